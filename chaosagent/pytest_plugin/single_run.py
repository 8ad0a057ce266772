"""The fixture `chaosagent_run`: one run of a target within a test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chaosagent.api.running_loop import outside_running_loop
from chaosagent.api.study import Study, file_of
from chaosagent.api.target_output import target_output_to_stderr
from chaosagent.contracts.contract import Contract
from chaosagent.errors import ChaosAgentError, UsageError
from chaosagent.faults.schedule import EMPTY, parse
from chaosagent.pytest_plugin.target_runs import lands, never_reached, runs_of
from chaosagent.replays.drawing import run_schedule
from chaosagent.replays.today import is_broken
from chaosagent.studyfile.plan import plan_of
from chaosagent.targets.target import Target
from chaosagent.trace.trace import Trace
from chaosagent.vocabulary import Effect, Ending, Outcome


@dataclass(frozen=True, slots=True, repr=False)
class SingleRun:
    """One run of a target.

    Attributes:
        trace: All that happened; `trace.ending` says how the run ended.
        contracts: What was checked.
    """

    trace: Trace
    contracts: tuple[Contract, ...]

    @property
    def outcome(self) -> Outcome:
        """What the target returned; without a message and without success if the run did not get so far."""
        return self.trace.outcome

    @property
    def crash(self) -> str:
        """The exception that ended the run, with its place in the target's code; empty if none did."""
        if self.trace.ending is not Ending.CRASHED:
            return ""
        place = self.trace.crashed_at
        return self.trace.own_detail + (f" (at {place})" if place else "")

    @property
    def effects(self) -> tuple[Effect, ...]:
        """What was committed, in order."""
        return self.trace.effects

    @property
    def violations(self) -> dict[str, str]:
        """The reason of each violated contract, by its id."""
        told = {contract.id: self.trace.verdict(contract.id) for contract in self.contracts}
        return {
            name: "" if verdict.violation is None else verdict.violation.reason
            for name, verdict in told.items()
            if is_broken(verdict)
        }

    def __repr__(self) -> str:
        ending = self.trace.ending.value + (f": {self.crash}" if self.crash else "")
        broken = ", ".join(self.violations)
        return f"<SingleRun {ending}; {len(self.effects)} effects{f'; breaks {broken}' if broken else ''}>"


class Runner:
    """Runs targets in a test: what the fixture `chaosagent_run` is."""

    def __call__(self, target: Target | str, schedule: str = "", **study: Any) -> SingleRun:
        """Run a target once under a schedule.

        Args:
            target: The target, or its name.
            schedule: In text form, such as `"service:payments[1] service.timeout"`; without any no fault is injected.
            study: Arguments of `chaosagent.Study`; with several tasks and seeds the first of each is run.

        Raises:
            UsageError: An argument is not allowed, or a fault of the schedule changes nothing.
            TargetError: The target cannot be run.
        """
        __tracebackhide__ = True  # with what follows, pytest shows the line of the test and the message
        try:
            return _run_once(target, schedule, study)
        except ChaosAgentError as error:
            raise error.with_traceback(None) from None


def _run_once(target: Target | str, schedule: str, keys: Mapping[str, Any]) -> SingleRun:
    with outside_running_loop(), target_output_to_stderr(descriptors=False):
        try:
            plan = plan_of(file_of(Study(target, **keys)))
        except TypeError as error:
            raise UsageError(f"chaosagent_run(): {error}; the arguments are those of Study.") from None
        runs = next(runs_of(plan))
        wanted = parse(schedule, "schedule") if schedule else EMPTY
        trace = run_schedule(runs.experiment, wanted).trace if wanted else runs.undisturbed.trace
        if not lands(wanted, trace):
            raise UsageError(never_reached(wanted, [runs]))
    return SingleRun(trace, plan.contracts)
