"""How many answers of the model a search takes from its frozen answers instead of asking the model.

Usage: `python -m chaosagent.experiments.small_model.memory_served [TASK]`.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

from chaosagent.clock import monotonic
from chaosagent.execution.executor import Finished
from chaosagent.execution.inline import InlineExecutor
from chaosagent.execution.workbench import Answering, Job, Workbench
from chaosagent.experiments.small_model.language_model import language_model
from chaosagent.study.store import ANSWERS_NAME
from chaosagent.study.study import Study
from chaosagent.studyfile import Overrides, load_study, plan_of

STUDY = Path(__file__).with_name("study.yaml")
MODEL = "model:smollm2"


class CountingExecutor:
    """Runs jobs in this process, and counts how often the desk asked in them, by the kind of answers.

    Attributes:
        asked: Questions to the model in runs that ended.
        runs: Runs that ended.
    """

    def __init__(self, workbench: Workbench) -> None:
        self._inside = InlineExecutor(workbench)
        self._kinds: dict[int, Answering] = {}
        self.asked: Counter[Answering] = Counter()
        self.runs: Counter[Answering] = Counter()

    def submit(self, ticket: int, job: Job) -> None:
        self._kinds[ticket] = job.answering
        self._inside.submit(ticket, job)

    def next_finished(self) -> Finished:
        finished = self._inside.next_finished()
        kind = self._kinds.pop(finished.ticket)
        self.runs[kind] += 1
        self.asked[kind] += sum(crossing.place.interface == MODEL for crossing in finished.evaluation.crossings)
        return finished

    def drop_waiting(self) -> None:
        self._inside.drop_waiting()

    def close(self) -> None:
        self._inside.close()


def main(task: str) -> None:
    """Search one task of the study, and print what was asked and what was answered."""
    file = load_study(STUDY, Overrides(tasks=(task,)))
    with tempfile.TemporaryDirectory() as folder:
        plan = replace(plan_of(file), answers=Path(folder) / ANSWERS_NAME)
        executor, begun = CountingExecutor(plan.workbench()), monotonic()
        result = Study(plan, executor).run()
        seconds = monotonic() - begun
    fresh, frozen = executor.asked[Answering.FRESH], executor.asked[Answering.FROZEN]
    drawn = language_model().answers - fresh
    print(f"task {task}: {len(result.counterexamples)} counterexamples, {seconds:.0f} s")
    print(f"runs with frozen answers: {executor.runs[Answering.FROZEN]}, which ask {frozen} times")
    print(f"answers that were drawn for them: {drawn}, so {1 - drawn / frozen:.0%} were there already")
    print(f"fresh runs: {executor.runs[Answering.FRESH]}, which ask {fresh} times")


if __name__ == "__main__":
    main(*(sys.argv[1:] or ["lost"]))
