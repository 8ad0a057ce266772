"""Sinks receive the events of a study while it runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.schedule import Schedule
from chaosagent.study.chance.confirmation import Confirmation
from chaosagent.study.determinism.determinism import Determinism
from chaosagent.study.result import SearchResult, StudyProgress, TaskResult
from chaosagent.study.task_seed import TaskSeed
from chaosagent.study.trial import Trial


class Sink:
    """Takes what a study finds while it goes on; the store is one, the command line another.

    What a sink does not care for it leaves as it is here.
    """

    def examined(self, nature: Determinism) -> None:
        """Take whether the target is deterministic; told once, before the searches begin."""

    def remarked(self, texts: Sequence[str]) -> None:
        """Take what the runs without injections show of likely mistakes in study or target; before the searches."""

    def executed(self, at: TaskSeed, evaluation: Evaluation) -> None:
        """Take one run that searches wait for, as soon as it has ended or is known from an earlier session."""

    def trial(self, at: TaskSeed, contract: str, trial: Trial) -> None:
        """Take one told trial of the search for a contract."""

    def differed(self, at: TaskSeed, difference: str) -> None:
        """Take that a repeated run of a task and seed diverged, and how; once more when more is known of the cause."""

    def drawn(self, at: TaskSeed, number: int, evaluation: Evaluation) -> None:
        """Take one fresh run of a schedule, the `number`-th of it, from 0; only stochastic targets have such."""

    def judged(self, at: TaskSeed, contract: str, schedule: Schedule, confirmation: Confirmation) -> None:
        """Take what fresh runs have told of a schedule that was seen violating."""

    def search_over(self, result: SearchResult) -> None:
        """Take how one search ended; once more when what it has proved is withdrawn later."""

    def task_over(self, result: TaskResult) -> None:
        """Take how all searches of a task ended; nothing changes it any more."""

    def noted(self, task_id: str) -> object:  # noqa: ARG002  # most note nothing
        """Return what this sink knows of a task that is over and no result holds, as plain data; `None` for nothing."""
        return None

    def take_back(self, task_id: str, noted: object) -> None:
        """Take what `noted` has returned in an earlier session, in place of the events of the task."""

    def progress(self, progress: StudyProgress) -> None:
        """Take how far the study is."""


class Sinks(Sink):
    """Passes what it takes on to each of some sinks, in their order."""

    def __init__(self, sinks: Sequence[Sink]) -> None:
        self._sinks = tuple(sinks)

    def examined(self, nature: Determinism) -> None:
        for sink in self._sinks:
            sink.examined(nature)

    def remarked(self, texts: Sequence[str]) -> None:
        for sink in self._sinks:
            sink.remarked(texts)

    def executed(self, at: TaskSeed, evaluation: Evaluation) -> None:
        for sink in self._sinks:
            sink.executed(at, evaluation)

    def trial(self, at: TaskSeed, contract: str, trial: Trial) -> None:
        for sink in self._sinks:
            sink.trial(at, contract, trial)

    def differed(self, at: TaskSeed, difference: str) -> None:
        for sink in self._sinks:
            sink.differed(at, difference)

    def drawn(self, at: TaskSeed, number: int, evaluation: Evaluation) -> None:
        for sink in self._sinks:
            sink.drawn(at, number, evaluation)

    def judged(self, at: TaskSeed, contract: str, schedule: Schedule, confirmation: Confirmation) -> None:
        for sink in self._sinks:
            sink.judged(at, contract, schedule, confirmation)

    def search_over(self, result: SearchResult) -> None:
        for sink in self._sinks:
            sink.search_over(result)

    def task_over(self, result: TaskResult) -> None:
        for sink in self._sinks:
            sink.task_over(result)

    def noted(self, task_id: str) -> Mapping[str, object]:
        """Return what each sink has noted, by the name of its class."""
        noted = {type(sink).__name__: sink.noted(task_id) for sink in self._sinks}
        return {name: one for name, one in noted.items() if one is not None}

    @property
    def noting(self) -> list[str]:
        """The names of the classes that note something."""
        return [type(sink).__name__ for sink in self._sinks if type(sink).noted is not Sink.noted]

    def take_back(self, task_id: str, noted: object) -> None:
        by_name = cast("Mapping[str, object]", noted)
        for sink in self._sinks:
            if type(sink).__name__ in by_name:
                sink.take_back(task_id, by_name[type(sink).__name__])

    def progress(self, progress: StudyProgress) -> None:
        for sink in self._sinks:
            sink.progress(progress)
