"""The check that a target is deterministic, with the likely cause when it is not."""

from __future__ import annotations

import re
from collections import Counter

from chaosagent.errors import StudyError
from chaosagent.execution.workbench import Job, Workbench
from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.schedule import EMPTY
from chaosagent.study.evaluator import Experimental
from chaosagent.trace.diff import Difference, first_difference

_UUID = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")
_TIME = re.compile(r"\b(19|20)\d\d-[01]\d-[0-3]\d([T ]\d\d:\d\d)?|\b1[5-9]\d{8}(\.\d+)?\b")
_HEXADECIMAL = re.compile(r"\b[0-9a-f]{16,}\b")


def check_nominal(workbench: Workbench, at: Experimental, told: Evaluation) -> None:
    """Run a task once more without injections, and compare with what the executor's run told.

    Args:
        workbench: Of this process.
        at: Task and seed.
        told: What the executor's run told; it may have happened in another process, with another hash seed.

    Raises:
        StudyError: The runs differ; the message names the first differing step and the likely cause.
    """
    if told.status is Status.ERROR:
        return
    job = Job(at.task_id, at.seed, EMPTY)
    trace = workbench.execute(job).trace
    if trace.digest == told.digest:
        return
    difference = first_difference(trace, workbench.execute(job).trace)
    if difference is None:
        where = "two runs in one process are equal, two in different processes are not"
        cause = "the order of a set, `hash()`, or something that the process keeps between runs"
    else:
        where, cause = str(difference), likely_cause(difference)
    raise StudyError(
        f"task {at.task_id!r}, seed {at.seed}: the target is not deterministic, so nothing found in it could be proved "
        f"or replayed. Without any injection, {where}. Likely cause: {cause}."
    )


def likely_cause(difference: Difference) -> str:
    """Say what most often makes two runs differ in this way, and what to do about it."""
    expected, got = difference.expected, difference.got
    if difference.field in ("asked_at", "arrived_at"):
        return "real time passes into virtual time, for example through a thread; wait with run.clock.sleep"
    if _UUID.search(expected) and _UUID.search(got):
        return "a uuid; draw it from run.rng(label)"
    if _TIME.search(expected) and _TIME.search(got):
        return "the wall clock; ask run.clock.now()"
    if _HEXADECIMAL.search(expected) and _HEXADECIMAL.search(got):
        return "a generated id; draw it from run.rng(label)"
    if expected != got and Counter(expected) == Counter(got):
        return "the order of a set, or of what threads finish; sort it"
    if difference.field in ("interface", "operation", "occurrence", "agent", "steps"):
        return "calls are made in an order that depends on chance, such as that of a set or of threads; fix the order"
    return "a random number from elsewhere than run.rng(label), or something kept between runs in a module's variable"
