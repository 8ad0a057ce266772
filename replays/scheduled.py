"""Judging today's target by the schedule of a record; the rules stand in `README.md` of this folder."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import replace
from typing import NamedTuple

from chaosagent.contracts.contract import Contract
from chaosagent.execution.execute import Execution
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.replays.calls import (
    CallRelation,
    Fault,
    calls_of,
    changed_arguments,
    notes_on_new_calls,
    place_of,
    recorded_calls,
)
from chaosagent.replays.changes import (
    Change,
    added_effects,
    contract_change,
    declaration_changes,
    effect_losses,
    effects_change,
    ending_change,
    identity_changes,
    labels_change,
)
from chaosagent.replays.cold_runs import ColdDifference, ColdRunsOfTask, cold_difference, cold_draws, name_of_run
from chaosagent.replays.drawing import Runner
from chaosagent.replays.neighbours import Around
from chaosagent.replays.outcome import Failure, Replay, ReplayOutcome, RunsMax, reviewed, violation_place
from chaosagent.replays.placements import BrokenRun, Findings, Harm, Placements
from chaosagent.replays.record import ReplayRecord
from chaosagent.replays.today import Judge, Today, broken_too, is_broken
from chaosagent.study.counterexample import signature_of
from chaosagent.trace.trace import Trace
from chaosagent.vocabulary import Ending, Outcome

MODE = "schedule"
DECLARATIONS_UNKNOWN = "declarations unknown: the record is of a version that does not have them"


class Options(NamedTuple):
    """How a schedule is replayed.

    Attributes:
        runs_max: How many runs may be made.
        accepted: Digests of changes that somebody has reviewed.
        cold: Repeats runs in processes of their own before an outcome is `HELD`; `None` where that is not possible.
        is_fixed: The record is expected to hold, so another contract that its faults now break is to be reviewed.
    """

    runs_max: RunsMax
    accepted: Container[str]
    cold: ColdRunsOfTask | None
    is_fixed: bool = False


class ScheduleReplay:
    """One replay of a record's schedule.

    Args:
        record: The stored counterexample.
        contract: Of the record, as it is today.
        today: Today's target.
        options: How the schedule is replayed.
    """

    def __init__(self, record: ReplayRecord, contract: Contract, today: Today, options: Options) -> None:
        self._record, self._contract, self._today, self._options = record, contract, today, options
        self._judge = Judge(record, contract, today)
        self._run = Runner(record, today.experiment, self._judge, draws=options.runs_max.draws)
        self._recorded = recorded_calls(record)
        self._effects_change = effects_change(record, today.undisturbed.trace)

    def replay(self) -> Replay:
        """Make the runs that are needed and return what comes of them.

        Raises:
            ChaosAgentError: The target cannot be run.
        """
        notes = () if self._record.declarations is not None else (DECLARATIONS_UNKNOWN,)
        found = self._violated_undisturbed() or self._violated_as_recorded()
        if found is None:
            findings = self._placed()
            found = self._reviewed(self._repeated(self._of(findings)))
            count = self._options.runs_max.neighbours
            if count and found.outcome is ReplayOutcome.HELD and findings.fixed is not None:
                around = Around(self._record, self._contract, self._today, findings.fixed, count, self._options.cold)
                found = around.judged(found)
        return replace(found, notes=(*found.notes, *notes))

    # ------------------------------------------------------------------ without faults

    def _violated_undisturbed(self) -> Replay | None:
        """Return the violation that today's run without faults shows, `None` if it shows none."""
        trace, verdict = self._judge.undisturbed()
        if is_broken(verdict):
            reason = "" if verdict.violation is None else f": {verdict.violation.reason}"
            where = "without the faults of the record, of which none landed" if self._record.schedule else ""
            notes, failure = self._judge.violated_too(trace), Failure.OTHER if where else Failure.OWN
            return replace(self._violated_in(trace, where=where, reason=reason, notes=notes), failure=failure)
        contract = "" if self._expects(trace.ending) else self._judge.unlively(trace)
        if not contract:
            return None
        violation = trace.verdict(contract).violation
        reason = "" if violation is None else f": {violation.reason}"
        detail = f"{contract} violated at the end, without the faults of the record{reason}{_crashed_at(trace)}"
        return Replay(ReplayOutcome.VIOLATED, MODE, None, detail, failure=Failure.OTHER)

    def _expects(self, ending: Ending) -> bool:
        """Whether the record's run without faults ended so, as far as is known."""
        known = self._record.undisturbed
        if known is not None:
            return ending is known.ending
        nominal = self._record.nominal.outcome
        return ending is Ending.FINISHED or nominal == Outcome(success=False, state=nominal.state)

    # ------------------------------------------------------------------ with faults

    def _violated_as_recorded(self) -> Replay | None:
        """Return the violation that the recorded schedule shows where nothing has changed; one run is enough then."""
        first = self._recorded.faults[0] if self._recorded.faults else None
        if first is None or first.step is None:
            return None
        if not self._is_unchanged:
            if len(self._recorded.faults) == 1:
                return None  # placing it comes to the same
            undisturbed = calls_of(self._today.undisturbed.evaluation.crossings, self._secrets)
            calls = {call.place: call.request for call in undisturbed}
            if calls.get(place_of(first.step)) != first.step.request:
                return None
        judged = self._run(self._record.schedule)
        trace = judged.execution.trace
        if judged.harm is Harm.VIOLATED and (self._is_unchanged or trace.digest == self._record.trace_digest):
            return self._violated(BrokenRun(judged, judged.harm, ()), Findings())
        return None

    @property
    def _is_unchanged(self) -> bool:
        """Whether today's run without faults does what the record's did."""
        known = self._record.undisturbed
        return known is not None and known.digest == self._today.digest

    def _placed(self) -> Findings:
        """Place the faults at every call that may be the recorded one."""
        undisturbed = self._today.undisturbed
        base = self._judge(undisturbed) if self._recorded.faults else self._run(self._record.schedule)
        return Placements(
            recorded=self._recorded,
            judged=self._run,
            base=base,
            is_unchanged=self._is_unchanged,
            doors=undisturbed.doors or None if self._effects_change is None else None,
            interfaces=self._today.interfaces,
            runs_max=self._options.runs_max.placements,
            secrets=self._secrets,
        ).search()

    def _of(self, findings: Findings) -> Replay:
        """Return what the placements come to, whatever has changed beside them."""
        worst = findings.worst
        if worst is not None and worst.harm in (Harm.VIOLATED, Harm.UNLIVELY):
            return self._violated(worst, findings)
        if findings.is_cut:
            detail = (
                "trying the faults at every call that may be the recorded one takes more runs than allowed "
                f"({self._options.runs_max.placements}); allow more with --placements"
            )
            return Replay(ReplayOutcome.MOVED, MODE, None, detail)
        if worst is not None and worst.harm in (Harm.OTHERWISE, Harm.UNFINISHED):
            return self._moved(worst, findings)
        if worst is not None:
            return self._unclear(worst)
        if findings.fixed is not None:
            return self._held(findings)
        if findings.unplaced is not None or findings.unchanged is not None:
            return self._not_landed(findings)
        return self._replaced(findings)

    def _violated(self, broken: BrokenRun, findings: Findings) -> Replay:
        where = _where(broken, findings)
        trace = broken.judged.execution.trace
        if broken.harm is Harm.VIOLATED:
            found = self._violated_in(trace, before=where, notes=broken.judged.notes)
            is_own = all(candidate.relation is CallRelation.OWN for candidate in broken.placed)
            return replace(
                found,
                notes=(*found.notes, *self._judge.violated_too(trace)),
                changes=self._judge.newly_broken(trace, self._options.accepted),
                failure=Failure.OWN if is_own else Failure.OTHER,
            )
        verdict = trace.verdict(self._judge.unlively(trace))
        reason = "" if verdict.violation is None else f": {verdict.violation.reason}"
        detail = f"{where}{verdict.contract} violated, which the record's run has kept{reason}{_crashed_at(trace)}"
        change = broken_too(verdict)
        changes = () if change.digest in self._options.accepted else (change,)
        failure = Failure.OTHER if changes else Failure.OWN
        return Replay(ReplayOutcome.VIOLATED, MODE, None, detail, broken.judged.notes, changes, failure=failure)

    def _violated_in(
        self, trace: Trace, *, before: str = "", where: str = "", reason: str = "", notes: tuple[str, ...] = ()
    ) -> Replay:
        """Return the violation of the record's contract in a run, which need not be its own failure."""
        violation = trace.verdict(self._record.contract).violation
        step = None if violation is None else violation.step
        reason = reason or ("" if violation is None else f": {violation.reason}")
        at_end = step is None or step >= len(trace.steps)
        if not where:
            severity = self._contract.severity
            signature = signature_of(trace, self._record.contract, severity, self._record.schedule)
            same = signature == self._record.signature
            where = "the same signature" if same else f"another signature, {signature}"
        place = violation_place(step, len(trace.steps))
        crashed = _crashed_at(trace) if at_end else ""
        detail = f"{before}{self._record.contract} violated {place}, {where}{reason}{crashed}"
        return Replay(ReplayOutcome.VIOLATED, MODE, step, detail, notes, failure=Failure.OTHER)

    def _moved(self, worst: BrokenRun, findings: Findings) -> Replay:
        trace, where = worst.judged.execution.trace, _where(worst, findings)
        if worst.harm is Harm.UNFINISHED:
            ending = f"{trace.ending.value}: {trace.ending_detail}" if trace.ending_detail else trace.ending.value
            how = f"{where}the run ends with {ending}{_crashed_at(trace)}"
            detail = f"{how}, which no contract forbids; mend that, or search again"
            return Replay(ReplayOutcome.MOVED, MODE, None, detail, worst.judged.notes, failure=Failure.OTHER)
        found = self._violated_in(trace, before=where, notes=worst.judged.notes)
        return replace(found, outcome=ReplayOutcome.MOVED)

    def _unclear(self, worst: BrokenRun) -> Replay:
        trace = worst.judged.execution.trace
        verdict = trace.verdict(self._record.contract)
        why = "is violated, but unfairly" if verdict.unfair else "is neither violated nor does it hold"
        detail = f"{self._record.contract} {why}; the record no longer tests anything"
        return Replay(ReplayOutcome.NOT_LANDED, MODE, None, detail, worst.judged.notes)

    def _not_landed(self, findings: Findings) -> Replay:
        if findings.unchanged is not None:
            detail = f"{findings.unchanged.injection} changed nothing; the record no longer tests anything"
        else:
            assert findings.unplaced is not None
            detail = f"{findings.unplaced.injection} was never reached; the record no longer tests anything"
        return Replay(ReplayOutcome.NOT_LANDED, MODE, None, detail)

    def _replaced(self, findings: Findings) -> Replay:
        """Return that nothing broke, and that no call is known to be the recorded one."""
        fault = findings.replaced or self._recorded.faults[0]
        called = _call_name(fault)
        detail = (
            f"{called} is not called any more; at the calls that may have replaced it nothing breaks. Search again for "
            "a record of today's target"
        )
        return Replay(ReplayOutcome.MOVED, MODE, None, detail)

    def _held(self, findings: Findings) -> Replay:
        fixed, contract, count = findings.fixed, self._record.contract, len(self._recorded.faults)
        assert fixed is not None
        if not count:
            detail = f"{contract} holds without any injection"
        else:
            detail = f"{contract} holds, {len(fixed.placed)} of {count} injections landed"
            if findings.placement_count > 1:
                detail += f"; so it does in all {findings.placement_count} placements of the faults"
        lost = tuple(
            f"{_call_name(fault)} is no longer called, as the target handles an earlier fault" for fault in fixed.lost
        )
        changed = tuple(text for candidate in fixed.placed if (text := changed_arguments(candidate)))
        trace = fixed.judged.execution.trace
        new = notes_on_new_calls(self._recorded, self._today.undisturbed.trace, trace)
        notes = (*fixed.judged.notes, *self._judge.violated_too(trace), *lost, *changed, *new)
        beside = () if self._record.stochastic else self._judge.newly_broken(trace, self._options.accepted)
        return Replay(ReplayOutcome.HELD, MODE, None, detail, notes, beside, share_max=fixed.judged.share_max)

    def _repeated(self, found: Replay) -> Replay:
        """Return the outcome; `HELD` and `NOT_LANDED` only if all runs go the same way where none was made before."""
        cold, nominal = self._options.cold, self._today.experiment.nominal
        repeated = (ReplayOutcome.HELD, ReplayOutcome.NOT_LANDED)
        if found.outcome not in repeated or cold is None or nominal is None:
            return found
        if self._record.task.id not in self._today.experiment.target.tasks:
            note = "not repeated in a process of its own, as the target does not have the record's task any more"
            return replace(found, notes=(*found.notes, note))
        made = {EMPTY: self._today.undisturbed, **self._run.executions}
        if self._record.stochastic:
            return self._drawn(found, cold_draws(made, nominal, cold), made)
        different = cold_difference(made, nominal, cold)
        if not isinstance(different, ColdDifference):
            return replace(found, notes=(*found.notes, *different))
        contract = self._record.contract
        if self._breaks(different.evaluation):
            detail = f"{contract} violated, though it holds where other runs were made before: {different.text}"
            return Replay(ReplayOutcome.VIOLATED, MODE, None, detail, failure=Failure.OTHER)
        detail = f"the target does not repeat its runs, so it cannot be judged: {different.text}"
        return Replay(ReplayOutcome.ERROR, MODE, None, detail)

    def _drawn(
        self, found: Replay, repeats: Mapping[Schedule, list[Evaluation]], made: Mapping[Schedule, Execution]
    ) -> Replay:
        """Return the outcome for a stochastic target: repeats may go otherwise, but none may break the contract."""
        contract, others = self._record.contract, 0
        for schedule, evaluations in repeats.items():
            broken = sum(map(self._breaks, evaluations))
            if broken:
                detail = (
                    f"{contract} violated in {broken} of {len(evaluations)} repeats in processes of their own, though "
                    f"it holds where other runs were made before: {name_of_run(schedule)}"
                )
                failure = Failure.OWN if schedule else Failure.OTHER
                return Replay(ReplayOutcome.VIOLATED, MODE, None, detail, found.notes, failure=failure)
            others += sum(one.digest != made[schedule].evaluation.digest for one in evaluations)
        if not others:
            return found
        total = sum(map(len, repeats.values()))
        note = f"{others} of {total} repeats in processes of their own went otherwise; {contract} holds in all of them"
        return replace(found, notes=(*found.notes, note))

    def _breaks(self, evaluation: Evaluation) -> bool:
        return any(one.contract == self._record.contract and is_broken(one) for one in evaluation.verdicts)

    # ------------------------------------------------------------------ what has changed beside

    def _reviewed(self, found: Replay) -> Replay:
        """Return the outcome, which is `CHANGED` as long as there is a change that nobody has reviewed."""
        if found.outcome is ReplayOutcome.VIOLATED:
            return found
        changes, notes = self._changes()
        beside = found.changes if self._options.is_fixed else ()
        return reviewed(found, [*beside, *changes], notes, self._options.accepted)

    def _changes(self) -> tuple[list[Change], list[str]]:
        """Return what differs from the record besides calls, and notes on what does not count as a difference."""
        record, trace = self._record, self._today.undisturbed.trace
        declared = record.declarations or ()
        changes, notes = declaration_changes(declared, self._today.declarations, record.contract)
        name = f"contract {record.contract}"
        known = {declaration for declaration in declared if declaration.name == name and declaration.digest}
        same = bool(known & set(self._today.declarations))
        experiment = self._today.experiment
        overlooked = contract_change(record, self._contract, experiment, same_declaration=same)
        labels = labels_change(record, experiment)
        effects = self._effects_change
        if effects is not None and self._is_drawn:
            notes.append(f"{effects.text}; answers come by chance, so this is no change")
            effects = None
        ending = None if trace.ending is Ending.FINISHED or self._is_as_recorded(trace) else ending_change(trace)
        changes.extend(change for change in (overlooked, labels, effects, ending) if change is not None)
        if self._effects_change is None:
            runs = [trace, *(run.trace for run in self._run.executions.values())]
            shared = set(declared) & set(self._today.declarations)
            changes.extend([*effect_losses(record, runs, shared), *identity_changes(record, runs)])
        added = [effect.key for effect in added_effects(record, trace)]
        if added:
            notes.append(f"today's run without faults commits {', '.join(added)}, too")
        return changes, notes

    def _is_as_recorded(self, trace: Trace) -> bool:
        known = self._record.undisturbed
        return known is not None and known.ending is trace.ending

    @property
    def _secrets(self) -> tuple[str, ...]:
        return self._today.experiment.target.secrets

    @property
    def _is_drawn(self) -> bool:
        """Whether today's run without faults has drawn answers that the record does not have."""
        if not self._record.stochastic:
            return False
        return not self._record.answers or not set(self._today.undisturbed.answers) <= set(self._record.answers)


def _where(broken: BrokenRun, findings: Findings) -> str:
    """Say at which calls the faults were, where these are not the recorded ones."""
    if all(candidate.is_recorded for candidate in broken.placed):
        return ""
    moved = [candidate for candidate in broken.placed if not candidate.is_recorded]
    calls = ", and ".join(f"at {candidate.call}" for candidate in moved)
    one = len(broken.placed) == 1
    fault, verb = ("the same fault", "breaks") if one else ("the same faults", "break")
    holds = "the recorded call holds; " if one else "the recorded calls hold; "
    return f"{holds if findings.recorded_holds else ''}{fault} {calls}, {verb}: "


def _call_name(fault: Fault) -> str:
    interface, operation = fault.pair
    name = interface.partition(":")[2]
    return f"`{name}.{operation}`" if operation else f"`{name}`"


def _crashed_at(trace: Trace) -> str:
    return f" (at {trace.crashed_at})" if trace.crashed_at else ""
