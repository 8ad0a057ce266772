"""Running schedules in today's target: once where it is deterministic, several times where answers come by chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from chaosagent.execution.execute import Execution, Experiment, execute
from chaosagent.execution.real_time import limited_real_time
from chaosagent.execution.run.frozen import AnswersInMemory, answers_of
from chaosagent.execution.workers.workbench import run_experiment
from chaosagent.faults.schedule import Schedule
from chaosagent.replays.placements import Harm, JudgedRun
from chaosagent.replays.record import ReplayRecord
from chaosagent.replays.today import Judge
from chaosagent.statistics.intervals import wilson

_VIOLATED = frozenset({Harm.VIOLATED, Harm.UNLIVELY})


class Runner:
    """Runs each schedule once and judges it.

    Args:
        record: The stored counterexample.
        experiment: Of today's target.
        judge: Of its runs.
        draws: How often a schedule is run where a stochastic target asks what the record cannot answer.
    """

    def __init__(self, record: ReplayRecord, experiment: Experiment, judge: Judge, *, draws: int) -> None:
        self._record, self._experiment, self._judge, self._draws = record, experiment, judge, draws
        self._known: dict[Schedule, JudgedRun] = {}

    def __call__(self, schedule: Schedule) -> JudgedRun:
        """Return what the run of a schedule does.

        Raises:
            ChaosAgentError: It cannot be made.
        """
        known = self._known.get(schedule)
        if known is None:
            run = self._drawn if self._record.stochastic else self._once
            known = self._known[schedule] = run(schedule)
        return known

    @property
    def executions(self) -> dict[Schedule, Execution]:
        """One run of each schedule that was run."""
        return {schedule: judged.execution for schedule, judged in self._known.items()}

    def _once(self, schedule: Schedule) -> JudgedRun:
        return self._judge(run_schedule(self._experiment, schedule))

    def _drawn(self, schedule: Schedule) -> JudgedRun:
        """Run a schedule in a stochastic target: several times, unless the record answers everything.

        One that draws by itself draws anew in each run, whatever the record answers; so a run that is not the
        record's is repeated, and all draws are made where two runs differ.
        """
        known = len(self._answers())
        executions: list[Execution] = []
        fresh, by_itself = 0, not self._record.answers
        while len(executions) < self._runs_wanted(executions, by_chance=bool(fresh) or by_itself):
            answers = self._answers()
            executions.append(run_schedule(replace(self._experiment, answers=answers), schedule))
            fresh = max(fresh, len(answers) - known)
            by_itself = by_itself or executions[-1].trace.digest != executions[0].trace.digest
        judged = [self._judge(execution) for execution in executions]
        violating = [one for one in judged if one.harm in _VIOLATED]
        low, high = wilson(len(violating), len(executions))
        share = f"violated in {len(violating)} of {len(executions)} runs"
        notes: tuple[str, ...] = ()
        if fresh:
            share = f"{share} with fresh ones (P {low:.2f} to {high:.2f})"
            notes = (f"up to {fresh} answers a run are not in the record: {share}",)
        elif by_itself:
            notes = (f"the target draws by itself: {share} (P {low:.2f} to {high:.2f})",)
        elif not violating:
            notes = ("with the answers of the record; it was not run with others",)
        return (violating or judged)[0]._replace(notes=notes, share_max=high if fresh or by_itself else 0.0)

    def _runs_wanted(self, executions: Sequence[Execution], *, by_chance: bool) -> int:
        """Return how many runs are enough."""
        if by_chance:
            return self._draws
        return 2 if executions and executions[0].trace.digest != self._record.trace_digest else 1

    def _answers(self) -> AnswersInMemory:
        return answers_of(self._record.answers, self._experiment.scope)


def run_schedule(experiment: Experiment, schedule: Schedule) -> Execution:
    """Run a schedule, in a process of its own where the target asks for that.

    Raises:
        RunTooLongError: It took longer than its limit of real time.
        ChaosAgentError: The run cannot be made.
    """
    with limited_real_time(experiment.target, experiment.limits):
        return run_experiment(experiment, lambda: execute(experiment, schedule), alone=experiment.target.fresh)
