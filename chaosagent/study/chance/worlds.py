"""Worlds of frozen answers: which of several is searched, and where others lead that it never shows.

In a world what a model answered once, it answers again. So a branch that the target takes by chance is in some worlds
only, with all the places in it, and a search of one world says nothing of a place that this world does not have.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from chaosagent.faults.dry import unpack_request
from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.injection import Place
from chaosagent.faults.operator import COST_TOLERANCE
from chaosagent.faults.schedule import EMPTY, Schedule, schedule
from chaosagent.faults.space import Space
from chaosagent.study.searcher import SearchProgress
from chaosagent.study.task_seed import TaskSeed
from chaosagent.vocabulary import Boundary

if TYPE_CHECKING:
    from chaosagent.study.evaluator import Evaluator

WORLDS_COMPARED = 5
"""In how many worlds the run without injections is made before one of them is chosen."""

WORLDS_SEARCHED_MAX = 3
"""How many worlds are searched at most: the usual one, and such as lead elsewhere."""

UNSEEN_MAX = 3
"""How many places are named that a search never saw; the others are counted."""


class CallSite(NamedTuple):
    """A place with what is called there: another operation at the same place is another branch.

    Attributes:
        boundary: The class of the interface.
        place: Where.
        operation: What is called.
    """

    boundary: Boundary
    place: Place
    operation: str


class UnvisitedSites(NamedTuple):
    """Where runs with other answers went, and the world that was searched never did.

    Attributes:
        hook: In text form.
        operation: What is called there.
        cost: Of the cheapest schedule that is known to inject anything there.
        led: The part of it that leads there.
        world: In which it was met; `None` where no answer was frozen.
        route: What leads there, by chance where that is nothing.
    """

    hook: str
    operation: str
    cost: float
    led: float = 0.0
    world: int | None = None
    route: Schedule = EMPTY

    def __str__(self) -> str:
        return f"{self.hook} ({self.operation})"


def usual_world(evaluator: Evaluator, at: TaskSeed) -> int:
    """Return which of a few worlds goes as most of them go without injections: the first one of those.

    The places that are reached decide, then how the run ends and what the contracts say of it.
    """
    worlds = [at._replace(world=number) for number in range(WORLDS_COMPARED)]
    for world in worlds:
        evaluator.request(world, EMPTY)
    runs = [evaluator.evaluate(world, EMPTY) for world in worlds]
    left = [number for number, run in enumerate(runs) if run.status is Status.OK]
    left = _commonest(left, [spots_of(runs[number]) for number in left])
    left = _commonest(left, [_ended(runs[number]) for number in left])
    return left[0] if left else 0


def _commonest(numbers: Sequence[int], kinds: Sequence[Hashable]) -> list[int]:
    """Return those numbers that have the kind that most have; of equally common kinds that which comes first."""
    if not kinds:
        return []
    wanted = Counter(kinds).most_common(1)[0][0]
    return [number for number, kind in zip(numbers, kinds, strict=True) if kind == wanted]


def _ended(run: Evaluation) -> Hashable:
    return run.ending, run.success, tuple((verdict.contract, verdict.verdict) for verdict in run.verdicts)


def spots_of(run: Evaluation) -> frozenset[CallSite]:
    """Return where an injection could have acted in a run."""
    return frozenset(
        CallSite(crossing.boundary, crossing.place, unpack_request(crossing.request).operation)
        for crossing in run.crossings
    )


class CallSites:
    """Where the worlds that were searched went, and where other draws of the answers did.

    Args:
        space: What may be injected where.
        budget: What is dearer is of no interest.
    """

    def __init__(self, space: Space, budget: float) -> None:
        self._space, self._budget = space, budget
        self._shown: dict[CallSite, float] = {}
        self._met: dict[CallSite, UnvisitedSites] = {}

    def show(self, run: Evaluation) -> None:
        """Take a run of a world that is searched, of which the searcher is told."""
        for spot in spots_of(run):
            led = self._led_to(spot, run)
            self._shown[spot] = min(led, self._shown.get(spot, led))

    def meet(self, run: Evaluation, world: int | None) -> None:
        """Take a run with other answers.

        Args:
            run: What it told.
            world: In which; `None` where no answer was frozen.
        """
        for spot in spots_of(run):
            led = self._led_to(spot, run)
            if self._is_shown(spot, led):
                continue
            priced = self._space.at(spot.boundary, spot.place.interface, spot.place.agent)
            if priced and led + priced[0].cost <= self._budget + COST_TOLERANCE:
                route = schedule(one for one in run.effective if not one.hook.matches(spot.place))
                found = UnvisitedSites(str(spot.place), spot.operation, led + priced[0].cost, led, world, route)
                self._met[spot] = min(found, self._met.get(spot, found), key=_first)

    def _led_to(self, spot: CallSite, run: Evaluation) -> float:
        """Return what the injections elsewhere cost with which a run came to a spot."""
        model = self._space.model
        return sum(model.of(one.operator) for one in run.effective if not one.hook.matches(spot.place))

    def _is_shown(self, spot: CallSite, led: float) -> bool:
        """Whether a world that is searched came there as cheaply; else the search has injected there at more cost."""
        shown = self._shown.get(spot)
        return shown is not None and shown <= led + COST_TOLERANCE

    @property
    def unseen(self) -> tuple[UnvisitedSites, ...]:
        """Where other draws went, and no world that was searched did as cheaply; the cheapest to inject at first."""
        return tuple(sorted((one for spot, one in self._met.items() if not self._is_shown(spot, one.led)), key=_first))


def _first(one: UnvisitedSites) -> tuple[object, ...]:
    """Return the order of preference: of equally cheap ones such as were met in a world, which can be searched."""
    return one.cost, one.world is None, one.hook, one.operation, one.world or 0


def progress_of_both(before: SearchProgress | None, now: SearchProgress, floor: float) -> SearchProgress:
    """Return how far a search has come that began anew in another world.

    Args:
        before: Of the worlds that were searched before; `None` for the first one.
        now: Of the one that is searched.
        floor: What the cheapest schedule costs that the worlds before do not cover.
    """
    if before is None:
        return now
    return SearchProgress(
        lower_bound=min(before.lower_bound, max(now.lower_bound, floor)),
        level=min(before.level, now.level),
        pruned=_sum(before.pruned, now.pruned),
        audited=before.audited + now.audited,
        contradictions=before.contradictions + now.contradictions,
        audited_of=_sum(before.audited_of, now.audited_of),
    )


def _sum(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {rule: one.get(rule, 0) + other.get(rule, 0) for rule in {**one, **other}}


def describe_unseen(unseen: Sequence[UnvisitedSites]) -> str:
    """Say where another draw of the answers went, for people.

    Args:
        unseen: At least one.
    """
    places = ", ".join(map(str, unseen[:UNSEEN_MAX]))
    more = f" and {len(unseen) - UNSEEN_MAX} more places" if len(unseen) > UNSEEN_MAX else ""
    return f"another draw of the answers reached {places}{more}, which this search never saw"
