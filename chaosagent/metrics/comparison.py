"""Compares two studies search by search: what is new, gone, cheaper, dearer, proved now, or not proved any more.

A difference is only what one study found and the other has *proved* impossible. What the other one never searched is
not comparable, and never counted as new or gone.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from chaosagent.faults.operator import COST_TOLERANCE


class SearchKey(NamedTuple):
    """What one search is of: the same in both studies."""

    task: str
    seed: int
    contract: str


@dataclass(frozen=True, slots=True)
class SearchOutcome:
    """What one search found and proved.

    Attributes:
        cost: Of the cheapest counterexample, 0 where the contract breaks without faults; `None` if there is none.
        proved_below: It is proved that nothing cheaper than this breaks the contract; 0 where nothing is proved.
        proved_up_to: It is proved that nothing up to this cost does, this cost among it; `None` where nothing is.
        counterexample: Id of the cheapest counterexample; empty if there is none.
    """

    cost: float | None
    proved_below: float = 0.0
    proved_up_to: float | None = None
    counterexample: str = ""

    def excludes(self, cost: float) -> bool:
        """Whether it is proved that nothing of some cost breaks the contract."""
        up_to = -math.inf if self.proved_up_to is None else self.proved_up_to
        return cost < self.proved_below - COST_TOLERANCE or cost <= up_to + COST_TOLERANCE


class Change(enum.Enum):
    """How the second study differs from the first in one search."""

    NEW = "new"
    CHEAPER = "cheaper"
    GONE = "gone"
    DEARER = "more expensive"
    PROVED = "newly proved"
    UNPROVED = "no longer proved"
    MISSED = "missed before"
    INCOMPARABLE = "not comparable"
    SAME = "the same"


WORSE = frozenset({Change.NEW, Change.CHEAPER})


@dataclass(frozen=True, slots=True)
class Difference:
    """One search in both studies.

    Attributes:
        key: Which.
        change: How the second study differs.
        before: Its outcome in the first study.
        after: In the second.
        may_be_worse: Something was found that the first study did not search for, so it may be new or cheaper; or the
            second study no longer proves what the first one did, so there may be something to find.
        note: Why it is not comparable; empty where it is.
    """

    key: SearchKey
    change: Change
    before: SearchOutcome
    after: SearchOutcome
    may_be_worse: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two studies, search by search.

    Attributes:
        differences: Of the searches that both have, the worst first, without those that are the same.
        same: How many are the same.
        open_in_both: How many of these neither study has proved or broken.
        only_before: Searches that only the first study has.
        only_after: Searches that only the second one has.
    """

    differences: tuple[Difference, ...]
    same: int
    only_before: tuple[SearchKey, ...] = ()
    only_after: tuple[SearchKey, ...] = ()
    open_in_both: int = 0
    counts: Mapping[Change, int] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        counted = {change: sum(one.change is change for one in self.differences) for change in Change}
        object.__setattr__(self, "counts", {**counted, Change.SAME: self.same})

    @property
    def worse(self) -> bool:
        """Whether something is new, or cheaper."""
        return any(one.change in WORSE for one in self.differences)

    @property
    def undetermined(self) -> bool:
        """Whether something may be new or cheaper and nobody can tell, or the studies share no search."""
        shared = bool(self.same or self.differences)
        return not shared or any(one.may_be_worse for one in self.differences)


Silence: TypeAlias = Callable[[SearchKey, SearchOutcome], str]
"""Says why the proofs of one study say nothing of what the other found; empty where they do."""


def compare(
    before: Mapping[SearchKey, SearchOutcome],
    after: Mapping[SearchKey, SearchOutcome],
    budget: float,
    *,
    silence: Silence | None = None,
    replayed: Mapping[SearchKey, bool] | None = None,
    apart: Container[SearchKey] = (),
) -> Comparison:
    """Compare two studies in the searches that both have.

    Args:
        before: The first study.
        after: The second one.
        budget: The smaller of both; what is proved is compared up to there.
        silence: Says why the proofs of the other study do not cover what was found, such as by an operator that it did
            not search.
        replayed: Whether the contract held on the first target, by search: of those whose counterexample of the second
            study was run there.
        apart: Searches whose counterexamples have equal costs and nothing else in common.
    """
    shared = [key for key in before if key in after]
    came = {} if replayed is None else replayed
    found = [
        _apart(key, before[key], after[key], is_held=came.get(key))
        if key in apart
        else _difference(key, before[key], after[key], budget, silence, is_held=came.get(key))
        for key in shared
    ]
    order = list(Change)
    is_open = [
        before[key].cost is None and after[key].cost is None and not before[key].excludes(budget)
        for key, one in zip(shared, found, strict=True)
        if one.change is Change.SAME
    ]
    found.sort(key=lambda one: (order.index(one.change), one.after.cost or one.before.cost or 0.0, one.key))
    return Comparison(
        differences=tuple(one for one in found if one.change is not Change.SAME),
        same=sum(one.change is Change.SAME for one in found),
        only_before=tuple(sorted(key for key in before if key not in after)),
        only_after=tuple(sorted(key for key in after if key not in before)),
        open_in_both=sum(is_open),
    )


def _apart(key: SearchKey, before: SearchOutcome, after: SearchOutcome, *, is_held: bool | None) -> Difference:
    """Return how two counterexamples of the same cost differ: a search ends with one, so nobody knows of the others."""
    if is_held is None:
        note = "the same cost by another cause, which the first study may not have tried"
        return Difference(key, Change.INCOMPARABLE, before, after, may_be_worse=True, note=note)
    return Difference(key, Change.NEW if is_held else Change.MISSED, before, after)


def _difference(
    key: SearchKey,
    before: SearchOutcome,
    after: SearchOutcome,
    budget: float,
    silence: Silence | None,
    *,
    is_held: bool | None,
) -> Difference:
    if before.cost is None and after.cost is None:
        was, now = before.excludes(budget), after.excludes(budget)
        change = Change.SAME if was == now else Change.PROVED if now else Change.UNPROVED
        return Difference(key, change, before, after, may_be_worse=change is Change.UNPROVED)
    if before.cost is not None and after.cost is not None and abs(before.cost - after.cost) <= COST_TOLERANCE:
        return Difference(key, Change.SAME, before, after)
    is_worse = before.cost is None or (after.cost is not None and after.cost < before.cost)
    # The cheaper finding is the one that the other study has to exclude.
    finder, other, named = (after, before, "first") if is_worse else (before, after, "second")
    assert finder.cost is not None
    note = "" if silence is None else silence(key, finder)
    if not note and not other.excludes(finder.cost):
        note = f"the {named} study proved nothing at cost {finder.cost:g}"
    if note and is_worse and is_held is False:
        return Difference(key, Change.MISSED, before, after)
    if note and not (is_held and before.cost is None):
        return Difference(key, Change.INCOMPARABLE, before, after, may_be_worse=is_worse, note=note)
    if is_worse:
        return Difference(key, Change.NEW if before.cost is None else Change.CHEAPER, before, after)
    return Difference(key, Change.GONE if after.cost is None else Change.DEARER, before, after)
