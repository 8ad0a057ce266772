"""A reduction with several runs out at a time ends where one with a single one might, and asks for nothing twice."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaosagent.faults.dry import RecordedCrossing
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.injection import Hook, Injection, Place, inject
from chaosagent.faults.schedule import Schedule
from chaosagent.faults.schedule import schedule as schedule_of
from chaosagent.faults.space import Choices, Space
from chaosagent.operators.service.delay import Delay
from chaosagent.study.shrinking.minimise import Reduction
from chaosagent.trace.trace import ContractVerdict, Violation
from chaosagent.vocabulary import Boundary, Verdict

SECONDS = (5.0, 20.0, 60.0)
SPACE = Space([Choices("service.delay", {"seconds": SECONDS})])
PLACES = tuple(Place(f"service:s{number}", "", 1) for number in range(8))
CROSSINGS = tuple(
    RecordedCrossing(
        place, Boundary.SERVICE, b"", b"", b"", 2 * number, 2 * number + 1, 0.0, 0.0, True, True, False, True
    )
    for number, place in enumerate(PLACES)
)
Breaks = Callable[[Schedule], bool]


def late(number: int, level: int) -> Injection:
    return inject(Hook(f"service:s{number}", "", 1, 1), Delay(seconds=SECONDS[level]))


def told(schedule: Schedule, breaks: Breaks) -> Evaluation:
    verdict = Verdict.VIOLATED if breaks(schedule) else Verdict.HOLDS
    at = Violation(0, "", "it broke") if verdict is Verdict.VIOLATED else None
    verdicts = (ContractVerdict("c", verdict, -1.0, at, unfair=False),)
    return Evaluation(schedule, effective=schedule, verdicts=verdicts, crossings=CROSSINGS)


def cost(schedule: Schedule) -> float:
    return schedule.declared_cost(SPACE.model)


def level_of(schedule: Schedule, number: int) -> int:
    """Return how late an answer comes, as the number of its level; -1 when it is in time."""
    found = [
        SECONDS.index(dict(one.parameters)["seconds"]) for one in schedule if one.hook.interface == f"service:s{number}"
    ]
    return found[0] if found else -1


def clauses_broken(clauses: list[dict[int, int]]) -> Breaks:
    """Return what breaks when, of some clause, every answer comes late enough."""
    return lambda schedule: any(
        all(level_of(schedule, number) >= level for number, level in clause.items()) for clause in clauses
    )


CLAUSES = st.lists(
    st.dictionaries(st.integers(0, 7), st.integers(0, 2), min_size=1, max_size=3), min_size=1, max_size=3
)
EVERYTHING = schedule_of(late(number, 2) for number in range(8))


def reduced(breaks: Breaks, width: int, order: random.Random, **options: object) -> tuple[Evaluation, list[Schedule]]:
    """Reduce everything with so many runs out at a time, told in the order of asking or in another one."""
    reduction = Reduction(told(EVERYTHING, breaks), "c", SPACE, **options)  # type: ignore[arg-type]
    asked: list[Schedule] = []
    out: list[Schedule] = []
    while True:
        while len(out) < width and (wanted := reduction.take()) is not None:
            asked.append(wanted)
            out.append(wanted)
        assert reduction.out_count == len(out)
        if not out:
            return reduction.best, asked
        reduction.told(told(out.pop(order.randrange(len(out))), breaks))


@given(clauses=CLAUSES, width=st.integers(1, 16), order=st.randoms(use_true_random=False))
def test_nothing_of_what_is_left_can_be_spared_or_weakened(
    clauses: list[dict[int, int]], width: int, order: random.Random
) -> None:
    breaks = clauses_broken(clauses)

    best, asked = reduced(breaks, width, order)

    minimal = best.effective
    assert breaks(minimal)
    assert cost(minimal) <= cost(EVERYTHING)
    assert len(asked) == len(set(asked))
    for injection in minimal:
        rest = minimal.without(injection)
        assert not breaks(rest)
        weaker = range(SECONDS.index(dict(injection.parameters)["seconds"]))
        number = int(injection.hook.interface.removeprefix("service:s"))
        assert not any(breaks(rest.with_injection(late(number, level))) for level in weaker)


@given(clauses=CLAUSES, width=st.integers(1, 8), order=st.randoms(use_true_random=False))
def test_what_is_known_to_hold_is_not_run_and_nothing_is_lost_by_that(
    clauses: list[dict[int, int]], width: int, order: random.Random
) -> None:
    breaks = clauses_broken(clauses)

    best, asked = reduced(breaks, width, order, known_to_hold=lambda schedule: not breaks(schedule))

    assert all(breaks(schedule) for schedule in asked)
    for injection in best.effective:
        assert not breaks(best.effective.without(injection))


def test_several_runs_out_take_fewer_rounds() -> None:
    breaks = clauses_broken([{1: 0, 6: 0}])

    def rounds(width: int) -> int:
        reduction, count = Reduction(told(EVERYTHING, breaks), "c", SPACE), 0
        while out := [one for _ in range(width) if (one := reduction.take()) is not None]:
            count += 1
            for schedule in out:
                reduction.told(told(schedule, breaks))
        assert reduction.best.effective == schedule_of([late(1, 0), late(6, 0)])
        return count

    assert 2 * rounds(8) < rounds(1)


@pytest.mark.parametrize("width", [1, 4])
def test_the_limit_in_runs_is_kept(width: int) -> None:
    best, asked = reduced(clauses_broken([{0: 2, 7: 2}]), width, random.Random(0), runs_max=3)

    assert len(asked) == 3
    assert cost(best.effective) <= cost(EVERYTHING)
