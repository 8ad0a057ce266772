"""Checks of the settings that a study file gives to a searcher."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Literal, Union, get_args, get_origin, get_type_hints

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


@dataclass(frozen=True, slots=True)
class Within:
    """The bounds of a number, beside its type: `width: Annotated[int, Within(1, 100)] = 8`.

    Attributes:
        least: The least value allowed.
        most: The greatest.
    """

    least: float
    most: float

    def __contains__(self, value: object) -> bool:
        return isinstance(value, int | float) and self.least <= value <= self.most

    def __str__(self) -> str:
        least, most = (str(bound) if isinstance(bound, int) else f"{bound:g}" for bound in (self.least, self.most))
        return f"from {least} to {most}"


def settings_of(factory: Callable[..., object]) -> dict[str, object]:
    """Return the settings of a searcher as they are annotated, `None` for one without an annotation.

    The first parameter is the problem, and no setting. Empty, too, for what does not tell its parameters.
    """
    try:
        hints = get_type_hints(factory.__init__ if inspect.isclass(factory) else factory, include_extras=True)
    except (NameError, TypeError):  # of a plug-in whose annotations name what only its type checker knows
        hints = {}
    return {one.name: hints.get(one.name) for one in _parameters(factory)[1:] if one.kind not in _VARIABLE}


def _parameters(factory: Callable[..., object]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(factory).parameters.values())
    except (TypeError, ValueError):  # of a plug-in that is written in another language
        return []


def check_settings(
    searcher: str,
    factory: Callable[..., object],
    settings: Mapping[str, object],
    where: Callable[[str], str] | None = None,
) -> None:
    """Check that a searcher has the settings it is given, and that each value is what its annotation allows.

    Args:
        searcher: Its name.
        factory: Makes it.
        settings: As they were given.
        where: Returns what messages call the place of a setting: its file and line, or the option.

    Raises:
        UnknownNameError: It has no such setting; the nearest is offered.
        UsageError: A value is of another type or out of bounds, or the setting is one of the searcher that has the most
            rules.
    """
    if not settings:
        return
    known = settings_of(factory)
    takes_any = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in _parameters(factory))
    for name, value in settings.items():
        place = f"searcher {searcher!r}" if where is None else where(name)
        if name not in known and not takes_any:
            raise _unknown(searcher, name, known, place)
        wanted = known.get(name)
        if wanted is not None and not _fits(value, wanted):
            hint = _nearest(value, _literals(wanted))
            raise UsageError(
                f"{place}: search.settings.{name} is {_shown(value)}; it must be {describe_annotation(wanted)}.{hint}"
            )


def _unknown(searcher: str, name: str, known: Mapping[str, object], where: str) -> UsageError:
    if name not in settings_of(factory_of(PROVER)):
        return UnknownNameError(f"setting of searcher {searcher!r}:", name, known, where)
    return UsageError(
        f"{where}: search.settings.{name} is a setting of `searcher: {PROVER}`, and not of {searcher!r}. "
        f"Write `searcher: {PROVER}` beside it, or remove it. Settings of {searcher!r}: {', '.join(known) or 'none'}."
    )


def _fits(value: object, wanted: object) -> bool:
    origin, arguments = get_origin(wanted), get_args(wanted)
    if origin in (Union, UnionType):
        return any(_fits(value, one) for one in arguments)
    if origin is Literal:
        return any(value == one and type(value) is type(one) for one in arguments)
    if origin is Annotated:
        return _fits(value, arguments[0]) and all(value in one for one in arguments[1:] if isinstance(one, Within))
    if wanted in (int, float):
        numbers = (int, float) if wanted is float else (int,)
        return isinstance(value, numbers) and not isinstance(value, bool)
    return isinstance(value, wanted) if wanted in WORDS and isinstance(wanted, type) else True


def describe_annotation(wanted: object) -> str:
    """Return in words what an annotation allows, empty where that is not known."""
    origin, arguments = get_origin(wanted), get_args(wanted)
    if origin in (Union, UnionType):
        return " or ".join(filter(None, map(describe_annotation, arguments)))
    if origin is Literal:
        return f"one of {', '.join(map(_shown, arguments))}"
    if origin is Annotated:
        return " ".join(
            [describe_annotation(arguments[0]), *(str(one) for one in arguments[1:] if isinstance(one, Within))]
        )
    return WORDS.get(wanted, "")


def _literals(wanted: object) -> list[str]:
    if get_origin(wanted) is Literal:
        return [one for one in get_args(wanted) if isinstance(one, str)]
    return [word for one in get_args(wanted) for word in _literals(one)]


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
