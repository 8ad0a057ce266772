"""Random schedules for a stored study: run on demand, kept in a folder within its own, and continued from there."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pydantic

from chaosagent.api.session import WorkerSettings
from chaosagent.api.stored.further_study import RANDOM_FOLDER, belongs_to, further_study
from chaosagent.canonical import digest_of
from chaosagent.clock import monotonic
from chaosagent.errors import OtherStudyError, StoredDataError, UsageError
from chaosagent.execution.workers.workbench import Answering
from chaosagent.faults.evaluation import Evaluation, Fingerprinting
from chaosagent.metrics.random_curve import RandomRuns, levels_of, random_runs
from chaosagent.study.determinism.determinism import DECLARED, DETERMINISTIC, Determinism
from chaosagent.study.evaluator import Evaluator
from chaosagent.study.plan import Plan
from chaosagent.study.store.facts import Facts
from chaosagent.study.store.files import FILE_NAME
from chaosagent.study.store.reading import facts_of_closed_store
from chaosagent.study.store.study_store import StudyStore
from chaosagent.study.task_seed import TaskSeed
from chaosagent.studyfile import StudyFile, plan_of

FACT = "random"
TOLD_SECONDS = 5.0


class RandomSchedules:
    """Runs random schedules for a stored study.

    Args:
        folder: Of the study.
        draws: Schedules for each task, seed and level of the budget.

    Attributes:
        folder: In which they are kept.
        most: How many runs there are at most, of this session and those before.

    Raises:
        ChaosAgentError: The study cannot be read, or not be run here; see `further_study`.
    """

    def __init__(self, folder: Path, draws: int) -> None:
        self._study, self.folder, self._draws = further_study(folder), folder / RANDOM_FOLDER, draws
        stochastic = facts_of_closed_store(folder / FILE_NAME).get("stochastic") == "yes"
        self._plan = replace(plan_of(self._study), stochastic=stochastic)
        self._levels = levels_of(self._plan)
        self.most = len(self._plan.tasks) * len(self._plan.seeds) * (1 + draws * len(self._levels))

    def run(self, workers: WorkerSettings, tell: Callable[[str], object]) -> None:
        """Make those runs that no earlier session has made, and keep what they come to.

        Args:
            workers: Where the runs happen.
            tell: Called with a line on how far it is, now and then.

        Raises:
            StudyError: Another process is at it, or it cannot be stored.
            UsageError: The target does not say whether its objective was met; or the folder holds runs for other
                settings.
        """
        plan, begun = self._plan, monotonic()
        with contextlib.ExitStack() as stack:
            store = _opened(self.folder, plan, self._study)
            digest = ""
            stack.callback(lambda: store.close(digest))
            for remark in store.remarks:
                tell(remark)
            executor = workers.open(self._study, plan, tell)
            stack.callback(executor.close)
            progress = _Progress(store, self.most, tell)
            evaluator = Evaluator(executor, Fingerprinting.OFF, progress.executed, store.differed)
            for at, evaluation in store.earlier().evaluations(()):
                evaluator.remember(at, evaluation)
            store.examined(Determinism(Answering.FROZEN, DECLARED) if plan.stochastic else DETERMINISTIC)
            made = random_runs(plan, evaluator, self._levels, draws=self._draws)
            for difference in evaluator.diverged:
                tell(f"runs differ, so the random curve is an estimate from live runs: {difference}")
            text = json.dumps(made)
            store.note(FACT, text)
            digest = digest_of(text)
        tell(f"{progress.executions:,} runs under random schedules in {self.folder}, {monotonic() - begun:.1f} s")


class _Progress:
    """Keeps each run, and says now and then how many there are."""

    def __init__(self, store: StudyStore, most: int, tell: Callable[[str], object]) -> None:
        self._store, self._most, self._tell = store, most, tell
        self._next = monotonic() + TOLD_SECONDS
        self.executions = 0

    def executed(self, at: TaskSeed, evaluation: Evaluation) -> None:
        self._store.executed(at, evaluation)
        self.executions += 1
        if monotonic() >= self._next:
            self._next = monotonic() + TOLD_SECONDS
            self._tell(f"random schedules: {self.executions:,} of at most {self._most:,} runs")


def _opened(folder: Path, plan: Plan, study: StudyFile) -> StudyStore:
    if not (folder / FILE_NAME).exists():
        return StudyStore.create(folder, plan, study.text_as_run)
    try:
        return StudyStore.resume(folder, plan, study.text_as_run)
    except OtherStudyError:
        raise UsageError(
            f"{folder} holds random schedules for other settings of this study. Delete that folder, and repeat the "
            "command."
        ) from None


def random_runs_of(folder: Path, facts: Facts) -> tuple[Sequence[RandomRuns], str]:
    """Return what random schedules that were run for a stored study came to, and what is wrong with them.

    Args:
        folder: Of the study.
        facts: Of its store.

    Returns:
        No runs where there are none that can be used; then the text says why, unless there are none at all.
    """
    further = folder / RANDOM_FOLDER
    if not (further / FILE_NAME).is_file():
        return (), ""
    try:
        if not belongs_to(folder, facts, further):
            return (), f"{further} holds random schedules for another version of this study, which are left out"
        text = facts_of_closed_store(further / FILE_NAME).get(FACT, "")
        if not text:
            return (), f"the random schedules in {further} have not come to their end; to go on: curve --random"
        return _RUNS.validate_json(text), ""
    except (StoredDataError, UsageError, pydantic.ValidationError) as error:
        return (), f"the random schedules in {further} are left out: {error}"


_RUNS = pydantic.TypeAdapter(list[RandomRuns])
