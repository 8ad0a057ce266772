"""Notes of single trials: each run once, errors by their text."""

from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.schedule import EMPTY, Schedule, parse
from chaosagent.report.notes import KINDS_MAX, Notes
from chaosagent.study.searcher import Purpose
from chaosagent.study.task_seed import TaskSeed
from chaosagent.study.trial import Trial

AT = TaskSeed("late", 3)
LOST = parse("service:payments[1] service.lost_response")


def failed(schedule: Schedule, error: str) -> Trial:
    return Trial(0, schedule, Purpose.EXPLORE, Evaluation(schedule, Status.ERROR, error))


def test_a_run_counts_once_though_several_searches_are_told_of_it() -> None:
    notes = Notes()

    for contract in ("at-most-once", "no-crash"):
        notes.trial(AT, contract, failed(LOST, "no space left"))
    notes.trial(AT, "no-crash", failed(EMPTY, "no space left"))
    notes.trial(TaskSeed("calm", 3), "no-crash", failed(LOST, "out of memory"))

    space, memory = notes.failed
    assert (space.error, space.count, space.task_id, space.seed, space.schedule) == (
        "no space left",
        2,
        "late",
        3,
        LOST,
    )
    assert (memory.error, memory.count, memory.task_id) == ("out of memory", 1, "calm")
    assert notes.failed_count == 3


def test_only_so_many_different_errors_are_kept_and_all_are_counted() -> None:
    notes = Notes()

    for number in range(KINDS_MAX + 5):
        notes.trial(TaskSeed("late", number), "no-crash", failed(EMPTY, f"error {number}"))

    assert [runs.error for runs in notes.failed] == [f"error {number}" for number in range(KINDS_MAX)]
    assert notes.failed_count == KINDS_MAX + 5


def test_what_went_well_is_not_noted() -> None:
    notes = Notes()

    notes.trial(AT, "no-crash", Trial(0, EMPTY, Purpose.EXPLORE, Evaluation(EMPTY)))

    assert (notes.failed, notes.failed_count) == ((), 0)
