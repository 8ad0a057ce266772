"""Checks of the settings that a study file gives to a searcher."""

from __future__ import annotations

import difflib
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from types import NoneType, UnionType
from typing import Literal, Union, get_args, get_origin, get_type_hints

from chaosagent.errors import UnknownNameError, UsageError
from chaosagent.study.searcher import factory_of

WORDS: Mapping[object, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    NoneType: "null",
}
"""How people call what a setting may be."""

PROVER = "exact"
"""The searcher whose settings people mean when they name a rule that another one does not have."""

_VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def settings_of(factory: Callable[..., object]) -> dict[str, object]:
    """Return the settings of a searcher with their types, `None` for one that does not tell its type.

    The first parameter is the problem, and no setting. Empty, too, for what does not tell its parameters.
    """
    try:
        hints = get_type_hints(factory.__init__ if inspect.isclass(factory) else factory)
    except (NameError, TypeError):  # of a plug-in whose annotations name what only its type checker knows
        hints = {}
    return {one.name: hints.get(one.name) for one in _parameters(factory)[1:] if one.kind not in _VARIABLE}


def _parameters(factory: Callable[..., object]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(factory).parameters.values())
    except (TypeError, ValueError):  # of a plug-in that is written in another language
        return []


def check_setting(searcher: str, factory: Callable[..., object], name: str, value: object, *, where: str) -> None:
    """Check that a searcher has a setting, and that a value is of its type; bounds it checks itself.

    Args:
        searcher: Its name.
        factory: Makes it.
        name: Of the setting.
        value: As it was given.
        where: File and line, or the option.

    Raises:
        UnknownNameError: It has no such setting; the nearest is offered.
        UsageError: The value is of another type, or the setting is one of the searcher that has the most rules.
    """
    types = settings_of(factory)
    takes_any = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in _parameters(factory))
    if name not in types and not takes_any:
        if name in settings_of(factory_of(PROVER)):
            known = ", ".join(types) or "none"
            raise UsageError(
                f"{where}: search.settings.{name} is a setting of `searcher: {PROVER}`, and not of {searcher!r}. "
                f"Write `searcher: {PROVER}` beside it, or remove it. Settings of {searcher!r}: {known}."
            )
        raise UnknownNameError(f"setting of searcher {searcher!r}:", name, types, where)
    wanted = types.get(name)
    if wanted is None or _fits(value, wanted):
        return
    words = _nearest(value, _literals(wanted))
    raise UsageError(f"{where}: search.settings.{name} is {_shown(value)}; it must be {_words(wanted)}.{words}")


def _fits(value: object, wanted: object) -> bool:
    if get_origin(wanted) in (Union, UnionType):
        return any(_fits(value, one) for one in get_args(wanted))
    if get_origin(wanted) is Literal:
        return any(value == one and type(value) is type(one) for one in get_args(wanted))
    if wanted in (int, float):
        numbers = (int, float) if wanted is float else (int,)
        return isinstance(value, numbers) and not isinstance(value, bool)
    return isinstance(value, wanted) if wanted in WORDS and isinstance(wanted, type) else True


def _words(wanted: object) -> str:
    if get_origin(wanted) in (Union, UnionType):
        return " or ".join(_words(one) for one in get_args(wanted))
    if get_origin(wanted) is Literal:
        return f"one of {', '.join(map(_shown, get_args(wanted)))}"
    return WORDS.get(wanted, "of another type")


def _literals(wanted: object) -> list[str]:
    return [one for one in get_args(wanted) if isinstance(one, str)]


def _nearest(value: object, words: Sequence[str]) -> str:
    """Return a hint at the word that was meant, empty when none is near."""
    near = difflib.get_close_matches(value, words, n=1, cutoff=0.4) if isinstance(value, str) else []
    return f" Did you mean {near[0]!r}?" if near else ""


def _shown(value: object) -> str:
    """Return a value as a study file has it."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}..."


def whole(searcher: str, setting: str, value: object, least: int, most: int) -> int:
    """Return a whole number within limits, both inclusive.

    Raises:
        UsageError: It is none, or lies outside.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise UsageError(f"{searcher}({setting}={value!r}): {setting} must be a whole number from {least} to {most}.")
    return value


def number(searcher: str, setting: str, value: object, least: float, most: float) -> float:
    """Return a number within limits, both inclusive.

    Raises:
        UsageError: It is none, or lies outside.
    """
    within = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not within or not isinstance(value, int | float) or not least <= value <= most:
        raise UsageError(f"{searcher}({setting}={value!r}): {setting} must be a number from {least:g} to {most:g}.")
    return float(value)


def word(searcher: str, setting: str, value: object, allowed: Sequence[str]) -> str:
    """Return one of some words.

    Raises:
        UsageError: It is none of them.
    """
    if not isinstance(value, str) or value not in allowed:
        known, hint = ", ".join(allowed), _nearest(value, allowed)
        raise UsageError(f"{searcher}({setting}={value!r}): {setting} must be one of {known}.{hint}")
    return value
