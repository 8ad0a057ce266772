"""Violations are reduced one at a time, and none that a minimal one explains."""

from __future__ import annotations

from collections.abc import Callable

from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.schedule import Schedule, parse
from chaosagent.faults.space import Choices, Space
from chaosagent.study.shrinking.minimise import Shrinker
from chaosagent.trace.trace import ContractVerdict, Violation
from chaosagent.vocabulary import Verdict

SPACE = Space([Choices("service.delay", {"seconds": (5.0, 60.0)})])
A, B, C = (parse(f"service:bank[{number}] service.delay(seconds=5.0)") for number in (1, 2, 3))
A_LONG = parse("service:bank[1] service.delay(seconds=60.0)")


def both(*schedules: Schedule) -> Schedule:
    return parse("; ".join(map(str, schedules)))


def told(schedule: Schedule, *, breaks: bool) -> Evaluation:
    verdict = Verdict.VIOLATED if breaks else Verdict.HOLDS
    at = Violation(0, "", "it broke") if breaks else None
    return Evaluation(schedule, effective=schedule, verdicts=(ContractVerdict("c", verdict, -1.0, at, unfair=False),))


def violation(schedule: Schedule) -> Evaluation:
    return told(schedule, breaks=True)


def drain(shrinker: Shrinker, breaks: Callable[[Schedule], bool]) -> list[Schedule]:
    """Answer what the shrinker wants until it wants nothing, and return that."""
    wanted = []
    while (schedule := shrinker.take()) is not None:
        wanted.append(schedule)
        shrinker.told(told(schedule, breaks=breaks(schedule)))
    return wanted


def minimal(shrinker: Shrinker) -> list[Schedule]:
    return [found.effective for found in shrinker.minimal]


def test_a_violation_is_reduced_to_a_minimal_one_and_what_holds_that_is_left_alone() -> None:
    shrinker = Shrinker("c", SPACE)

    shrinker.add(violation(both(A, B)))
    wanted = drain(shrinker, lambda schedule: A.injections[0].hook in {one.hook for one in schedule})
    shrinker.add(violation(both(A, C)))
    shrinker.add(violation(both(A_LONG, C)))

    assert wanted
    assert minimal(shrinker) == [A]
    assert not shrinker.busy
    assert shrinker.take() is None
    assert shrinker.left == []


def test_those_of_the_fewest_injections_come_first_and_spare_the_others() -> None:
    shrinker = Shrinker("c", SPACE)

    shrinker.add(violation(both(B, C)))  # begun with at once
    shrinker.add(violation(both(A, B, C)))
    shrinker.add(violation(A))
    drain(shrinker, lambda schedule: schedule == both(B, C))

    assert minimal(shrinker) == [both(B, C), A]


def test_what_is_not_reduced_to_its_end_is_left() -> None:
    shrinker = Shrinker("c", SPACE)

    shrinker.add(violation(both(B, C)))
    shrinker.add(violation(both(A, C)))
    shrinker.add(violation(A))
    assert [found.effective for found in shrinker.left] == [both(B, C), A, both(A, C)]

    shrinker.keep(violation(A))
    assert [found.effective for found in shrinker.left] == [both(B, C)]
    assert shrinker.changes == 1


def test_a_smaller_one_takes_the_place_of_a_known_one() -> None:
    shrinker = Shrinker("c", SPACE)

    shrinker.keep(violation(both(A, B)))
    shrinker.keep(violation(B))
    shrinker.keep(violation(both(B, C)))

    assert minimal(shrinker) == [B]
    assert shrinker.changes == 2


def test_no_more_wait_than_may_and_those_that_are_explained_make_room() -> None:
    shrinker = Shrinker("c", SPACE, waiting_max=1)
    shrinker.add(violation(both(B, C)))  # under way
    shrinker.add(violation(both(A, B)))
    shrinker.add(violation(both(A, C)))
    assert [found.effective for found in shrinker.left] == [both(B, C), both(A, B)]

    shrinker.keep(violation(B))
    shrinker.add(violation(both(A, C)))

    assert [found.effective for found in shrinker.left] == [both(A, C)]
