"""Rules that say which effects a call commits: by naming arguments, or by a function of request and answer."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias, cast

from chaosagent.canonical import Plain, plain
from chaosagent.effects.condition import (
    Condition,
    ConditionForm,
    Loader,
    condition_from,
    function_from,
    is_file_reference,
    is_reference,
)
from chaosagent.errors import UsageError
from chaosagent.vocabulary import Effect, Impact

EffectFunction: TypeAlias = Callable[[Mapping[str, Plain], Plain], "Effect | Iterable[Effect] | None"]
EffectRule: TypeAlias = "EffectOf | EffectFunction"

KEYS = ("identity", "impact", "kind", "when", "idempotent", "function")
FORMS = "a list of arguments, a function such as 'eff.py:book', or a mapping with `identity` or `function`"


class UnknownArgumentError(LookupError):
    """An effect is identified by an argument that the call does not have."""


@dataclass(frozen=True, slots=True)
class EffectOf:
    """Says which effect a successful operation commits.

    Attributes:
        identity: Names of the arguments that make two effects the same one; leave out generated ids and times.
        impact: How much it matters.
        kind: The kind of the effect; `interface.operation` when empty.
        when: The effect is committed only by calls that match; `None` for all.
        idempotent: Committed again, it is no second effect.
        function: Says what is committed, in the place of all but `when` and `idempotent`; `None` where arguments do.
    """

    identity: tuple[str, ...] = ()
    impact: Impact = Impact.HIGH
    kind: str = ""
    when: Condition | None = None
    idempotent: bool = False
    function: EffectFunction | None = None


def effect(
    *identity: str,
    impact: Impact = Impact.HIGH,
    kind: str = "",
    when: ConditionForm | None = None,
    idempotent: bool = False,
    function: EffectFunction | None = None,
) -> EffectOf:
    """Declare that an operation commits an effect, identified by some of its arguments.

    Leave out what a service generates, such as the id of a hold: after a retry it is another one, and the same effect
    would be taken for an extra one.

    Args:
        identity: Names of arguments.
        impact: How much it matters.
        kind: The kind of the effect; `interface.operation` when empty.
        when: The effect is committed only by calls whose answer matches, such as `{"json": "status", "is": "ok"}`; see
            `chaosagent.effects.condition`. The others succeed and commit nothing; `failed_when` is for those that fail.
        idempotent: Writing the same again is no second effect: only the first of equal effects in a run counts, until
            something compensating is committed. That another value was written in between is not looked at.
        function: Says by arguments and answer what is committed, in the place of `identity`, `impact` and `kind`.

    Raises:
        UsageError: What identifies an effect is no name of an argument, or stands beside a function.
    """
    for name in identity:
        _check_argument_name(name, f"effect({name!r:.80})")
    if function is not None and (identity or kind):
        raise UsageError("effect(function=...): the function says what is committed; leave out names and `kind`.")
    condition = None if when is None else condition_from(when, "effect(when=...)")
    return EffectOf(identity, impact, kind, condition, idempotent, function)


def effect_rule_from(given: object, where: str, load: Loader) -> EffectRule:
    """Return the rule that a file names, or Python code hands over.

    Args:
        given: A name of an argument or a list of them; the name of a function, or a function; a mapping with the
            arguments of `effect` as keys, the names under `identity`.
        where: What messages call its place.
        load: Loads functions that are named.

    Raises:
        UsageError: It is none of these.
    """
    if isinstance(given, EffectOf):
        return given
    if isinstance(given, str) and is_reference(given):
        return cast(EffectFunction, function_from(given, where, load))
    if isinstance(given, str | list | tuple):
        return EffectOf(_names(given, where))
    if isinstance(given, Mapping):
        return _from_mapping(given, where, load)
    if callable(given):
        return cast(EffectFunction, given)
    raise UsageError(f"{where} is {given!r:.80}; it must be {FORMS}.")


def _from_mapping(given: Mapping[str, object], where: str, load: Loader) -> EffectOf:
    for key in given:
        if key not in KEYS:
            raise UsageError(f"{where}.{key} is {key!r:.80}; it must be one of {', '.join(KEYS)}.")
    if ("identity" in given) is ("function" in given):
        raise UsageError(f"{where} is {dict(given)!r:.80}; it must be {FORMS}.")
    kind, impact, idempotent = given.get("kind", ""), given.get("impact", Impact.HIGH), given.get("idempotent", False)
    if not isinstance(kind, str):
        raise UsageError(f"{where}.kind is {kind!r:.80}; it must be a text.")
    if not isinstance(impact, Impact) and impact not in [known.value for known in Impact]:
        raise UsageError(
            f"{where}.impact is {impact!r:.80}; it must be one of {', '.join(known.value for known in Impact)}."
        )
    if not isinstance(idempotent, bool):
        raise UsageError(f"{where}.idempotent is {idempotent!r:.80}; it must be true or false.")
    when = condition_from(given["when"], f"{where}.when", load) if "when" in given else None
    if "function" not in given:
        return EffectOf(_names(given["identity"], f"{where}.identity"), Impact(impact), kind, when, idempotent)
    if "kind" in given or "impact" in given:
        raise UsageError(f"{where}: the function says kind and impact of what is committed; leave the keys out.")
    function = cast(EffectFunction, function_from(given["function"], f"{where}.function", load))
    return EffectOf(when=when, idempotent=idempotent, function=function)


def _names(given: object, where: str) -> tuple[str, ...]:
    listed = [given] if isinstance(given, str) else given
    if not isinstance(listed, list | tuple) or not all(isinstance(name, str) and name for name in listed):
        raise UsageError(f"{where} is {given!r:.80}; it must be a list of texts that are not empty.")
    for name in listed:
        _check_argument_name(name, where)
    return tuple(listed)


def _check_argument_name(name: object, where: str) -> None:
    """Refuse what looks like a function where the name of an argument is expected.

    Raises:
        UsageError: It does.
    """
    if not isinstance(name, str):
        hint = " Give a function as it is: effects={...: book}." if callable(name) else ""
        raise UsageError(f"{where}: {name!r:.80} is no name of an argument.{hint}")
    if is_file_reference(name) or (is_reference(name) and "." in name.partition(":")[0]):
        raise UsageError(
            f"{where}: {name!r:.80} looks like a function, and names of arguments are expected here. In a file, write "
            f"the function alone, not in a list: `effects: {{OPERATION: {name:.80}}}`. In Python, hand over the "
            "function itself."
        )


def is_effect_rule(given: object) -> bool:
    """Whether a door can use something as a rule."""
    return isinstance(given, EffectOf) or callable(given)


def is_idempotent(rule: EffectRule) -> bool:
    """Whether the effects of a rule, committed again, are no second effects."""
    return isinstance(rule, EffectOf) and rule.idempotent


def needs_answer(rule: EffectRule) -> bool:
    """Whether what a rule says depends on the answer."""
    return not isinstance(rule, EffectOf) or rule.when is not None or rule.function is not None


def effects_by(
    rule: EffectRule,
    arguments: Mapping[str, Plain],
    answer: Plain,
    kind: str,
    *,
    optional: Callable[[], Container[str]] = tuple,
) -> tuple[Effect, ...]:
    """Return what a successful call commits.

    Args:
        rule: What is declared of its operation.
        arguments: Of the call.
        answer: To the call, plain data.
        kind: Of the effect where the rule does not say it.
        optional: Returns names of arguments that a call may leave out; then their value is `None`.

    Raises:
        UnknownArgumentError: The call does not have an identifying argument; its text is the name.
        TypeError: A function gave something else than effects.
        Exception: Whatever a function of the user's raises.
    """
    if not isinstance(rule, EffectOf):
        return _checked(rule(arguments, answer))
    if rule.when is not None and not rule.when.why(arguments, answer):
        return ()
    if rule.function is not None:
        return _checked(rule.function(arguments, answer))
    identity = {name: arguments.get(name) for name in rule.identity}
    for name in rule.identity:
        if name not in arguments and name not in optional():
            raise UnknownArgumentError(name)
    return (Effect(rule.kind or kind, identity, rule.impact),)


def _checked(found: Effect | Iterable[Effect] | None) -> tuple[Effect, ...]:
    listed = () if found is None else (found,) if isinstance(found, Effect) else tuple(found)
    return tuple(map(checked_effect, listed))


def checked_effect(found: object) -> Effect:
    """Return an effect that a function of the user's gave, its identity as plain data.

    Raises:
        TypeError: It is no effect.
        UsageError: Its identity is not plain data.
    """
    if not isinstance(found, Effect):
        raise TypeError(f"{found!r:.80} is no Effect")
    return found._replace(identity=cast("dict[str, Plain]", plain(found.identity)))
