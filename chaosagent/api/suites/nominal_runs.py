"""Runs without faults for a regression suite: a few tasks of each category, as they end today."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from chaosagent.api.stored.further_study import further_study
from chaosagent.errors import ChaosAgentError
from chaosagent.execution.execute import Experiment
from chaosagent.faults.schedule import EMPTY
from chaosagent.replays.declarations import with_objective
from chaosagent.replays.drawing import run_schedule
from chaosagent.replays.outcome import ReplayOutcome
from chaosagent.replays.record import Named, ReplayRecord, record_of_nominal_run
from chaosagent.replays.rerun import rerun_exact
from chaosagent.replays.today import is_broken, today_of
from chaosagent.study.plan import Plan
from chaosagent.study.store.files import FILE_NAME
from chaosagent.study.store.reading import facts_of_closed_store
from chaosagent.studyfile import plan_of
from chaosagent.vocabulary import Ending, Task

DETAIL_MAX = 200
ORIGIN = "a run without faults, kept to see that the task still ends as it did; nothing is proved of it"


def nominal_records(
    folder: Path, per_category: int, present: Iterable[ReplayRecord]
) -> tuple[list[ReplayRecord], list[str]]:
    """Run the first tasks of each category of a study without faults, and return their records.

    A task counts only if it finishes and breaks no contract of the study, and if its run can be repeated exactly. The
    first seed of the study is taken.

    Args:
        folder: Of the study, searched from this working directory.
        per_category: How many records of each category are wanted, those that are present among them.
        present: Records that are there already.

    Returns:
        The records that are new, and what kept others from being made, a sentence each.
    """
    if per_category == 0:
        return [], []
    try:
        plan = plan_of(further_study(folder, contracts=None))
        if facts_of_closed_store(folder / FILE_NAME).get("stochastic") == "yes":
            return [], [f"{folder}: no runs without faults, as answers come by chance"]
    except ChaosAgentError as error:
        return [], [f"{folder}: no runs without faults: {error}"]
    there = [one for one in present if one.is_nominal and one.config.name == plan.config.name]
    counts = Counter(one.task.category for one in there)
    known = {one.id for one in there}
    made: list[ReplayRecord] = []
    remarks: list[str] = []
    for task in plan.tasks:
        if counts[task.category] >= per_category:
            continue
        try:
            record, why = _record_of(plan, task)
        except ChaosAgentError as error:
            remarks.append(f"{task.id}: no run without faults: {error}")
            continue
        if why:
            remarks.append(f"{task.id}: no run without faults: {why}")
        elif record.id not in known:
            made.append(record)
            counts[task.category] += 1
    return made, remarks


def _record_of(plan: Plan, task: Task) -> tuple[ReplayRecord, str]:
    """Return the record of a task, and why it is of no use."""
    today = today_of(Experiment(plan.target, task, plan.config, plan.seeds[0], plan.contracts, None, plan.run_limits))
    named = Named(plan.target_reference, plan.contract_specs, ORIGIN)
    compared = run_schedule(today.experiment, EMPTY)  # now contracts have something to compare it with
    record = record_of_nominal_run(today.experiment, compared, named)
    record = replace(record, declarations=with_objective(today.declarations, plan.target), fresh=plan.fresh)
    return record, next(_shortcomings(record, plan), "")


def _shortcomings(record: ReplayRecord, plan: Plan) -> Iterator[str]:
    trace = record.trace
    yield from (f"it breaks {verdict.contract} by itself" for verdict in trace.verdicts if is_broken(verdict))
    if trace.ending is not Ending.FINISHED:
        yield f"it ends with {trace.ending.value}"
    replay = rerun_exact(record, plan.target)
    if replay.outcome is not ReplayOutcome.REPRODUCED:
        yield f"it cannot be repeated: {replay.detail:.{DETAIL_MAX}}"
