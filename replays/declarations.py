"""What a target declares of its effects and what its contracts say, as digests by name.

A built-in stands for its name, its settings and the version of its meaning; what a user has written for its syntax.
Covered are the functions, texts, numbers and other values that cannot change which such a function closes over or has
as defaults; helpers and constants elsewhere are not, nor are lists and mappings.
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import functools
import os
import re
import sys
from collections.abc import Iterable, Mapping
from operator import itemgetter
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import NamedTuple

from chaosagent.canonical import Plain, digest, digest_of, plain
from chaosagent.contracts.contract import Contract
from chaosagent.contracts.templates.objective import Objective
from chaosagent.effects.rule import EffectOf, EffectRule
from chaosagent.errors import UsageError
from chaosagent.execution.run.doors import DoorOptions
from chaosagent.replays.syntax import syntax_of_class, syntax_of_function
from chaosagent.targets.target import ObjectiveFunction, Target

UNREADABLE = ""
"""Stands for the digest of what has no source that could be read."""
EFFECT_SEMANTICS = 1
"""Version of what `effect(...)` says; see `Terms.semantics`."""
NESTED_MAX = 100
OBJECTS_MAX = 10_000
"""How deep, and how many objects, a rule or contract refers to at most; what refers to more cannot be compared."""
_STANDARD_LIBRARY = os.path.dirname(os.__file__)  # compared with texts


FAILED_WHEN = "failed_when of "
"""How names of declarations of failed calls begin."""


class Declaration(NamedTuple):
    """One effect, contract, or condition for failed calls.

    Attributes:
        name: `"contract at-most-once"`, `"effects of service:payments, refund"`, or `"failed_when of service:mail, *"`.
        digest: Of what it says; `UNREADABLE` where its source cannot be read.
    """

    name: str
    digest: str


def declarations_of(
    contracts: Iterable[Contract], doors: Mapping[str, DoorOptions], objective: ObjectiveFunction | None = None
) -> tuple[Declaration, ...]:
    """Return what contracts and doors declare, sorted by name.

    Args:
        contracts: All that are checked.
        doors: The doors that the run without injections has opened, by interface.
        objective: Of the target; the contract `objective` says what it says.
    """
    declared = [contract_text(contract, objective) for contract in contracts]
    return tuple(sorted([*declared, *_of_effects(doors)]))


def contract_text(contract: Contract, objective: ObjectiveFunction | None = None) -> Declaration:
    """Return what a contract says.

    Args:
        contract: The contract.
        objective: Of the target.
    """
    said = (contract, objective) if isinstance(contract, Objective) and objective is not None else contract
    return Declaration(f"contract {contract.id}", _digest_of(said))


def with_objective(declarations: Iterable[Declaration], target: Target) -> tuple[Declaration, ...]:
    """Return declarations with that of the target's objective, which says how a run ends also where it is no contract.

    Args:
        declarations: Of a run.
        target: Of the run.
    """
    found = tuple(declarations)
    own = contract_text(Objective(), target.objective)
    return found if target.objective is None or own.name in dict(found) else (*found, own)


def digest_of_constants(contract: Contract) -> str:
    """Return a digest of the module variables that a user's contract names, as far as they are plain data.

    They are no part of what it says, but whoever accepts that a contract says less accepts it with these values.
    """
    values: dict[str, Plain] = {}
    for function in _functions_of(contract):
        for name in function.__code__.co_names:
            with contextlib.suppress(KeyError, UsageError):
                values[f"{function.__qualname__} {name}"] = plain(function.__globals__[name])
    return digest_of(values)


def _functions_of(contract: Contract) -> list[FunctionType]:
    """Return the functions that a contract was made of, and the methods of its class."""
    kept = [*_state(contract).values(), *vars(type(contract)).values()]
    return [value for value in kept if isinstance(value, FunctionType) and not _is_of_library(value.__module__)]


def _of_effects(doors: Mapping[str, DoorOptions]) -> list[Declaration]:
    found = []
    for interface, options in doors.items():
        for operation, rule in options.effects.items():
            name = f"effects of {interface}, {operation}"
            found.append(Declaration(name, _digest_of_rule(rule, interface, operation)))
        for operation, condition in options.failed_when.conditions.items():
            found.append(Declaration(f"{FAILED_WHEN}{interface}, {operation}", _digest_of(condition)))
        if options.committed is not None:
            found.append(Declaration(f"effects of {interface}", _digest_of(options.committed)))
    return found


def _digest_of_rule(rule: EffectRule, interface: str, operation: str) -> str:
    """Return the digest of an effect rule.

    The names of identifying arguments are left out: an argument may be renamed, and replays compare the values.
    """
    if not isinstance(rule, EffectOf):
        return _digest_of(rule)
    kind = rule.kind or f"{interface.partition(':')[2]}.{operation}"
    said: list[Plain] = ["effect", EFFECT_SEMANTICS, kind, len(rule.identity), rule.impact.value]
    if any(_further(rule).values()):
        further = _digest_of(_further(rule))
        return digest_of([*said, further]) if further != UNREADABLE else UNREADABLE
    return digest_of(said)


def _further(rule: EffectOf) -> dict[str, object]:
    """Return what an effect rule says besides what records of earlier versions know."""
    return {"when": rule.when, "idempotent": rule.idempotent, "function": rule.function}


def _digest_of(value: object) -> str:
    try:
        return digest_of(_Describer().described(value))
    except (_UnreadableError, RecursionError):
        return UNREADABLE


class _UnreadableError(Exception):
    """The source of a declaration cannot be read."""


class _Describer:
    """Says in plain data what something says; where it meets something again, by the number of the first time.

    Args:
        numbers: By `id`, of what was described before.
    """

    def __init__(self, numbers: Mapping[int, int] | None = None) -> None:
        self._numbers = dict(numbers or {})
        self._kept: list[object] = []  # so that no other object has the id of one of them
        self._depth = 0

    def described(self, value: object) -> Plain:
        """Return what something says.

        Raises:
            _UnreadableError: Its source cannot be read, or it is too large.
        """
        match value:
            case enum.Enum():
                return ["enum", type(value).__name__, str(value.value)]
            case None | bool() | int() | float() | str() | bytes():
                return value
            case re.Pattern():
                return ["pattern", value.pattern, value.flags]
            case type():
                return _kind(value)
            case BuiltinFunctionType():
                return ["function", str(value.__module__), value.__qualname__]
        if not isinstance(value, tuple | frozenset | MethodType):  # which may be others each time, or one for many
            if id(value) in self._numbers:
                return ["again", self._numbers[id(value)]]
            self._numbers[id(value)] = len(self._numbers)
            self._kept.append(value)
        if self._depth >= NESTED_MAX or len(self._numbers) > OBJECTS_MAX:
            raise _UnreadableError
        self._depth += 1
        try:
            return self._inside(value)
        finally:
            self._depth -= 1

    def _inside(self, value: object) -> Plain:
        match value:
            case list() | tuple():
                return [self.described(inside) for inside in value]
            case set() | frozenset():
                # Their order differs from process to process, so none of them may have a number in the others.
                found = [_Describer(self._numbers).described(one) for one in value]
                return ["set", *sorted(found, key=digest_of)]
            case EffectOf():
                return self._effect(value)
            case Mapping():
                return {key: self.described(inside) for key, inside in _by_name(value)}
            case FunctionType():
                return self._function(value)
            case MethodType():
                return ["method", self.described(value.__func__), self.described(value.__self__)]
            case functools.partial():
                return ["partial", *map(self.described, (value.func, value.args, value.keywords))]
        wrapped, state = _wrapped(value), _state(value)
        if wrapped is not None:
            return [_kind(type(value)), self.described(wrapped)]
        if state or not _is_of_library(type(value).__module__):
            return [_kind(type(value)), {name: self.described(inside) for name, inside in state.items()}]
        return [_kind(type(value)), {}, *map(self.described, _made_from(value))]

    def _effect(self, rule: EffectOf) -> Plain:
        """Return what a rule says in a function that keeps it: as always, unless it says what it could not before."""
        state: dict[str, object] = {"identity": rule.identity, "impact": rule.impact, "kind": rule.kind}
        further = _further(rule)
        state |= further if any(further.values()) else {}
        kind: Plain = ["class", "chaosagent.targets.target", "EffectOf", 1]
        return [kind, {name: self.described(state[name]) for name in sorted(state)}]

    def _function(self, function: FunctionType) -> Plain:
        kept = [*map(_content, function.__closure__ or ()), *(function.__defaults__ or ())]
        kept += [value for _, value in sorted((function.__kwdefaults__ or {}).items())]
        if _is_of_library(function.__module__):
            inside = [self.described(value) for value in kept if _is_declared(value)]
            return ["function", function.__module__, function.__qualname__, inside]
        syntax = syntax_of_function(function)
        if not syntax:
            raise _UnreadableError
        wrapped = self.described(_wrapped(function))
        settings = [self.described(value) for value in kept if _is_setting(value)]
        described = ["syntax", digest(syntax.encode("utf-8", "surrogatepass")), wrapped]
        return [*described, settings] if settings else described


def _by_name(values: Mapping[object, object]) -> list[tuple[str, object]]:
    return sorted(((str(key), value) for key, value in values.items()), key=itemgetter(0))


def _wrapped(value: object) -> object:
    """Return what a decorator was put around, such as the function of a `staticmethod`; `None` if there is none."""
    try:
        found: object = getattr(value, "__wrapped__", None)
    except Exception:  # a property of the user's
        return None
    return found if callable(found) or isinstance(found, staticmethod | classmethod) else None


def _made_from(value: object) -> Iterable[object]:
    """Return from what an object without attributes was made, as far as it says so: `operator.itemgetter(0)` from 0."""
    try:
        made = value.__reduce_ex__(4)
    except Exception:  # a lock, say
        return ()
    return () if isinstance(made, str) else [*made[1:3], *(list(items or ()) for items in made[3:5])]


def _content(cell: object) -> object:
    try:
        return getattr(cell, "cell_contents", None)
    except ValueError:  # it is empty
        return None


def _is_declared(content: object) -> bool:
    """Whether what a function of a library closes over is what a user declares."""
    kinds = (EffectOf, FunctionType, MethodType, functools.partial, staticmethod, classmethod)
    return isinstance(content, kinds) or _wrapped(content) is not None


def _is_setting(value: object) -> bool:
    """Whether a value that a function keeps is part of what it says: one that cannot change while it runs."""
    if isinstance(value, tuple | frozenset):
        return all(map(_is_setting, value))
    plain = isinstance(value, bool | int | float | str | bytes | enum.Enum | re.Pattern)
    return plain or _is_declared(value)


def _kind(kind: type) -> Plain:
    if _is_of_library(kind.__module__):
        return ["class", kind.__module__, kind.__qualname__, int(getattr(kind, "semantics", 1))]
    own = [syntax_of_class(parent) for parent in kind.__mro__ if not _is_of_library(parent.__module__)]
    if not all(own):
        raise _UnreadableError
    return ["syntax", *(digest(syntax.encode("utf-8", "surrogatepass")) for syntax in own)]


def _state(value: object) -> dict[str, object]:
    """Return the settings of an object: the fields of a dataclass, else its attributes.

    Private ones of a library's class are left out, as they may be caches.
    """
    if dataclasses.is_dataclass(value):
        names = {field.name for field in dataclasses.fields(value) if field.compare}
    else:
        slots = {name for kind in type(value).__mro__ for name in _slots(kind)}
        hidden = "_" if _is_of_library(type(value).__module__) else "__"
        names = {name for name in {*getattr(value, "__dict__", {}), *slots} if not name.startswith(hidden)}
    return {name: getattr(value, name, None) for name in sorted(names)}


def _slots(kind: type) -> Iterable[str]:
    slots: str | Iterable[str] = kind.__dict__.get("__slots__", ())
    return (slots,) if isinstance(slots, str) else slots


def _is_of_library(module: str | None) -> bool:
    """Whether code comes with chaosagent or Python, so that its name and version stand for it."""
    first = str(module).partition(".")[0]
    if first == "chaosagent":
        return not str(module).startswith("chaosagent.experiments.")
    path = getattr(sys.modules.get(first), "__file__", None) or ""
    return first in sys.stdlib_module_names and (not path or path.startswith(_STANDARD_LIBRARY))
