"""Temporal combinators: contracts made of step predicates.

A predicate is a function `step -> bool` or a step pattern in text form (see `chaosagent.contracts.pattern`). Time is
counted in steps, which are judged one by one in the order of the trace; the end of a run decides what is still open.

| combinator | holds when |
| --- | --- |
| `always(p)` | p holds at every step |
| `never(p)` | p holds at no step |
| `within(a, b, steps=n)` | every a is followed by a b, at most n steps later |
| `since(a, b, steps=h)` | every a is preceded by a b, at most h steps earlier |
| `until(p, q)` | p holds at every step before the first q |
| `count(p, at_most=n, at_least=m)` | p holds at no more than n and no fewer than m steps |

Margins: the share of the window or of the count that was left at the closest approach. The monitors are in
`chaosagent.contracts.monitors`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Required, TypedDict, Unpack

from chaosagent.contracts.contract import Contract, Monitor, Setting
from chaosagent.contracts.monitors import CountWatch, NeverWatch, SinceWatch, UntilWatch, WithinWatch
from chaosagent.contracts.pattern import Predicate, predicate
from chaosagent.contracts.settings import ContractSettings, check_texts, check_whole, settle
from chaosagent.errors import UsageError
from chaosagent.vocabulary import Severity


class ContractKeys(TypedDict, total=False):
    """What every contract has; see `chaosagent.contracts.settings.ContractSettings`."""

    id: Required[str]
    severity: Severity
    weight: float
    requires: Contract | None


def always(condition: Predicate | str, **terms: Unpack[ContractKeys]) -> Contract:
    """Return the contract that a condition holds at every step, also at notes and late steps."""
    return Never(unwanted=condition, inverted=True, **terms)


def never(unwanted: Predicate | str, **terms: Unpack[ContractKeys]) -> Contract:
    """Return the contract that something holds at no step."""
    return Never(unwanted=unwanted, **terms)


def within(
    trigger: Predicate | str, response: Predicate | str, *, steps: int, **terms: Unpack[ContractKeys]
) -> Contract:
    """Return the contract that every trigger is followed by a response.

    Args:
        trigger: What asks for a response.
        response: One answers all triggers before it, and none at its own step.
        steps: How many steps after the trigger it may come at the latest, 1 or more. A run that ends before is a
            violation as well.
        **terms: Id, severity, weight, requires.

    Raises:
        UsageError: `steps` is below 1.
    """
    return Within(trigger=trigger, response=response, steps=steps, **terms)


def since(
    action: Predicate | str,
    earlier: Predicate | str,
    *,
    steps: int | None = None,
    same: str | tuple[str, ...] = (),
    **terms: Unpack[ContractKeys],
) -> Contract:
    """Return the contract that every action is preceded by something.

    Args:
        action: What needs something before it.
        earlier: What must come before; at the action's own step it does not count.
        steps: How many steps earlier it may be at the most; `None` for any number.
        same: Names of arguments in which both must agree; one that is not given counts as `None`.
        **terms: Id, severity, weight, requires.

    Raises:
        UsageError: `steps` is below 1.
    """
    return Since(action=action, earlier=earlier, steps=steps, same=same, **terms)


def until(
    condition: Predicate | str, release: Predicate | str, *, must_come: bool = False, **terms: Unpack[ContractKeys]
) -> Contract:
    """Return the contract that a condition holds at every step before the first release.

    Args:
        condition: What must hold; not asked at the step of the release, nor later.
        release: What ends the obligation.
        must_come: A run without release is a violation.
        **terms: Id, severity, weight, requires.
    """
    return Until(condition=condition, release=release, must_come=must_come, **terms)


def count(
    what: Predicate | str, *, at_most: int | None = None, at_least: int | None = None, **terms: Unpack[ContractKeys]
) -> Contract:
    """Return the contract that something holds at so many steps.

    Args:
        what: What is counted.
        at_most: Steps that are allowed, 0 or more; one more is a violation at once.
        at_least: Steps that are needed, 1 or more; judged at the end of the run.
        **terms: Id, severity, weight, requires.

    Raises:
        UsageError: Neither limit is given, one is too small, or no number fits both.
    """
    return Count(what=what, at_most=at_most, at_least=at_least, **terms)


@dataclass(frozen=True, slots=True, kw_only=True)
class Never(ContractSettings):
    """See `never`, and inverted `always`."""

    unwanted: Predicate | str
    inverted: bool = False

    def __post_init__(self) -> None:
        ContractSettings.__post_init__(self)
        predicate(self.id, self.unwanted)

    def monitor(self, setting: Setting) -> Monitor:  # noqa: ARG002  # the protocol's
        """Return a fresh check for one run."""
        return NeverWatch(predicate(self.id, self.unwanted), unwanted=not self.inverted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Within(ContractSettings):
    """See `within`."""

    trigger: Predicate | str
    response: Predicate | str
    steps: int

    def __post_init__(self) -> None:
        ContractSettings.__post_init__(self)
        predicate(self.id, self.trigger), predicate(self.id, self.response)
        check_whole(self.id, "steps", self.steps)

    def monitor(self, setting: Setting) -> Monitor:  # noqa: ARG002  # the protocol's
        """Return a fresh check for one run."""
        return WithinWatch(predicate(self.id, self.trigger), predicate(self.id, self.response), self.steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Since(ContractSettings):
    """See `since`."""

    action: Predicate | str
    earlier: Predicate | str
    steps: int | None = None
    same: str | tuple[str, ...] = ()

    def __post_init__(self) -> None:
        ContractSettings.__post_init__(self)
        predicate(self.id, self.action), predicate(self.id, self.earlier)
        if self.steps is not None:
            check_whole(self.id, "steps", self.steps)
        settle(self, same=check_texts(self.id, "same", self.same))

    def monitor(self, setting: Setting) -> Monitor:  # noqa: ARG002  # the protocol's
        """Return a fresh check for one run."""
        action, earlier = predicate(self.id, self.action), predicate(self.id, self.earlier)
        return SinceWatch(action, earlier, self.steps, tuple(self.same))


@dataclass(frozen=True, slots=True, kw_only=True)
class Until(ContractSettings):
    """See `until`."""

    condition: Predicate | str
    release: Predicate | str
    must_come: bool = False

    def __post_init__(self) -> None:
        ContractSettings.__post_init__(self)
        predicate(self.id, self.condition), predicate(self.id, self.release)

    def monitor(self, setting: Setting) -> Monitor:  # noqa: ARG002  # the protocol's
        """Return a fresh check for one run."""
        condition, release = predicate(self.id, self.condition), predicate(self.id, self.release)
        return UntilWatch(condition, release, must_come=self.must_come)


@dataclass(frozen=True, slots=True, kw_only=True)
class Count(ContractSettings):
    """See `count`."""

    what: Predicate | str
    at_most: int | None = None
    at_least: int | None = None

    def __post_init__(self) -> None:
        ContractSettings.__post_init__(self)
        predicate(self.id, self.what)
        if self.at_most is None and self.at_least is None:
            raise UsageError(f"{self.id}: count needs at_most, at_least or both.")
        if self.at_most is not None:
            check_whole(self.id, "at_most", self.at_most, least=0)
        if self.at_least is not None:
            check_whole(self.id, "at_least", self.at_least)
        if self.at_most is not None and self.at_least is not None and self.at_most < self.at_least:
            raise UsageError(
                f"{self.id}(at_most={self.at_most}, at_least={self.at_least}): no number fits both; raise at_most."
            )

    def monitor(self, setting: Setting) -> Monitor:  # noqa: ARG002  # the protocol's
        """Return a fresh check for one run."""
        return CountWatch(predicate(self.id, self.what), self.at_most, self.at_least)
