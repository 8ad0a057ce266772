"""Fresh runs of a schedule of a stochastic target, each with answers of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.study.chance.confirmation import NOMINAL_RUNS, Confirmation, SequentialTest
from chaosagent.study.evaluator import Evaluator
from chaosagent.study.plan import ErrorRates
from chaosagent.study.shrinking.minimise import violates
from chaosagent.study.task_seed import TaskSeed


class FreshRuns:
    """Makes fresh runs of schedules, and tests with them.

    Args:
        evaluator: Runs them.
        on_drawn: Called with each run that was made, with its number among those of its schedule.
        on_judged: Called with each schedule whose test has come to its end.
        earlier: What an earlier session has made.
        batch: How many runs a test makes at a time.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        on_drawn: Callable[[TaskSeed, int, Evaluation], None],
        on_judged: Callable[[TaskSeed, str, Schedule, Confirmation], None],
        earlier: Mapping[tuple[TaskSeed, Schedule], list[Evaluation]],
        batch: int,
    ) -> None:
        self._batch = batch
        self.evaluator, self._on_drawn, self._on_judged = evaluator, on_drawn, on_judged
        self._made = {(_anywhere(at), schedule): list(runs) for (at, schedule), runs in earlier.items()}

    def of(self, at: TaskSeed, schedule: Schedule, count: int) -> list[Evaluation]:
        """Return what the first fresh runs of a schedule told; those that are missing are made."""
        made = self._made.setdefault((_anywhere(at), schedule), [])

        def take(evaluation: Evaluation) -> None:
            self._on_drawn(at, len(made), evaluation)
            made.append(evaluation)

        self.evaluator.draw(at, schedule, max(0, count - len(made)), take)
        return made[:count]

    def made(self, at: TaskSeed, schedule: Schedule) -> list[Evaluation]:
        """Return what the fresh runs of a schedule told that there are."""
        return list(self._made.get((_anywhere(at), schedule), ()))

    def mostly_holds(self, at: TaskSeed, contract: str) -> bool:
        """Whether most of some fresh runs without injections keep a contract."""
        told = _told(self.of(at, EMPTY, NOMINAL_RUNS), contract)
        return 2 * sum(told) < len(told)

    def confirm(self, at: TaskSeed, schedule: Schedule, contract: str, rates: ErrorRates) -> Confirmation:
        """Run a schedule afresh until it is clear whether it makes violations likelier.

        The runs without injections are shared by all schedules of a task and seed.

        Args:
            at: Task and seed.
            schedule: What is tested.
            contract: Id of the contract that it may violate.
            rates: What is asked of this test; `alpha` is the part of the study's that it has.
        """
        test = SequentialTest(rates)
        under: list[Evaluation] = []
        without: list[Evaluation] = []
        while test.undecided() and len(under) < rates.runs_max:
            under = self.of(at, schedule, min(rates.runs_max, len(under) + self._batch))
            told = _told(under, contract)
            test.take(told, _told(without, contract))
            while test.undecided() and any(told) and len(without) < len(under):
                without = self.of(at, EMPTY, min(len(under), len(without) + self._batch))
                test.take(told, _told(without, contract))
        told, told_nominally = _told(under, contract), _told(without, contract)
        confirmation = Confirmation(
            violations=sum(told),
            runs=len(told),
            nominal_violations=sum(told_nominally),
            nominal_runs=len(told_nominally),
            errors=len(under) + len(without) - len(told) - len(told_nominally),
            evidence=test.evidence,
            alpha=rates.alpha,
            undecided=test.undecided(),
        )
        self._on_judged(at, contract, schedule, confirmation)
        return confirmation


def _anywhere(at: TaskSeed) -> TaskSeed:
    """Return task and seed alone: fresh answers belong to no world."""
    return at._replace(world=0)


def _told(runs: Iterable[Evaluation], contract: str) -> list[bool]:
    """Return whether each run that told something violated."""
    return [violates(run, contract) for run in runs if run.status is Status.OK]
