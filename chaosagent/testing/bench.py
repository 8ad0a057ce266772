"""A target and a space to try searchers on: each schedule is executed once, and the plain truth is known."""

from __future__ import annotations

from collections.abc import Sequence

from chaosagent.contracts.contract import Contract, judges_outcome_only, sees_faults
from chaosagent.execution.execute import Experiment, execute
from chaosagent.execution.play import play
from chaosagent.faults.evaluation import Evaluation, Fingerprinting
from chaosagent.faults.schedule import Schedule
from chaosagent.faults.space import Space
from chaosagent.limits import RunLimits
from chaosagent.study.searcher import Problem, Proposal
from chaosagent.targets.target import Target
from chaosagent.testing.enumeration import enumerate_minimal, enumerate_minimum

EXECUTIONS_MAX = 1_500


class TooLargeError(Exception):
    """The space is too large for exhaustive enumeration."""


class Bench:
    """Runs the first task of a target.

    Args:
        system: The target.
        contracts: What is checked.
        space: What may be injected.
        limits: Of one run.
        seed: Of the run.
    """

    def __init__(
        self,
        system: Target,
        contracts: Sequence[Contract],
        space: Space,
        *,
        limits: RunLimits | None = None,
        seed: int = 0,
    ) -> None:
        self.contracts, self.space, self._seed = tuple(contracts), space, seed
        task = next(iter(system.tasks.values()))
        config = next(iter(system.configs.values()))
        bare = Experiment(system, task, config, seed, self.contracts, limits=limits or RunLimits())
        self._experiment = bare.with_nominal()
        self._known: dict[Schedule, Evaluation] = {}
        self._depth = Fingerprinting.STATE_AND_HISTORY if space.reads_history else Fingerprinting.STATE

    @property
    def executed(self) -> tuple[Schedule, ...]:
        """All schedules that were executed, in that order."""
        return tuple(self._known)

    def run(self, schedule: Schedule) -> Evaluation:
        """Execute a schedule, unless it was.

        Raises:
            TooLargeError: More than `EXECUTIONS_MAX` schedules were executed.
        """
        if schedule not in self._known:
            if len(self._known) >= EXECUTIONS_MAX:
                raise TooLargeError
            self._known[schedule] = execute(self._experiment, schedule, fingerprinting=self._depth).evaluation
        return self._known[schedule]

    def answer(self, proposal: Proposal) -> Evaluation:
        """Execute what a searcher proposes; a policy is played each time, and told as the schedule that it chose.

        Raises:
            TooLargeError: As `run`.
        """
        if proposal.policy is None:
            return self.run(proposal.schedule)
        played = play(self._experiment, proposal.policy, fingerprinting=self._depth).evaluation
        return self._known.setdefault(played.schedule, played)

    def problem(self, contract: str, budget: float, *, search_seed: int = 0, all_minimal: bool = False) -> Problem:
        """Return what a searcher is to search."""
        monitor = [known.id for known in self.contracts].index(contract)
        return Problem(
            contract,
            monitor,
            self.space,
            budget,
            self._seed,
            search_seed,
            kinds_matter=sees_faults(self.contracts[monitor]),
            all_minimal=all_minimal,
            outcome_only=judges_outcome_only(self.contracts[monitor]),
        )

    def minimum(self, contract: str, budget: float) -> float | None:
        """Return the cost of the cheapest schedule within the budget that breaks a contract, by enumeration."""
        return enumerate_minimum(self.run, contract, self.space, budget).cost

    def minimal(self, contract: str, budget: float) -> tuple[Schedule, ...]:
        """Return all minimal counterexamples within the budget, by enumeration."""
        return enumerate_minimal(self.run, contract, self.space, budget)
