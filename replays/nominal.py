"""Judging today's target by the record of a run without faults: does the task still end as it did?

1. A contract that today's run breaks, by itself or in comparison with the record's run, is `VIOLATED`.
2. Another ending, outcome, effect, declaration or label than in the record is `CHANGED` until somebody has reviewed it.
   The wording of the final message is a note, and so are other calls: agents may go other ways to the same end.
3. Otherwise it is `HELD`, once the run was repeated in processes of its own and went the same way there.
"""

from __future__ import annotations

from collections.abc import Iterator

from chaosagent.canonical import digest_of
from chaosagent.execution.judging import judge
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.schedule import EMPTY
from chaosagent.replays.changes import (
    Change,
    added_effects,
    compared_nominal,
    declaration_changes,
    effect_losses,
    effects_change,
    ending_change,
    identity_changes,
    labels_change,
)
from chaosagent.replays.cold_runs import ColdDifference, cold_difference
from chaosagent.replays.declarations import with_objective
from chaosagent.replays.outcome import Failure, Replay, ReplayOutcome, reviewed, violation_place
from chaosagent.replays.record import ReplayRecord, nominal_run_in
from chaosagent.replays.scheduled import MODE, Options
from chaosagent.replays.today import Today, is_broken
from chaosagent.trace.trace import ContractVerdict
from chaosagent.vocabulary import Ending, Outcome

ALL_CONTRACTS = ""
COMPARED = ("success", "refused", "claims", "state")
"""What of an outcome counts: all but the wording of the message."""


def replay_nominal(record: ReplayRecord, today: Today, options: Options) -> Replay:
    """Return what today's run without faults comes to, compared with that of a record.

    Args:
        record: Of a run without faults.
        today: Today's target, with its run without faults.
        options: How the record is replayed; there are no faults to place and no neighbours.

    Returns:
        `VIOLATED`, `CHANGED`, `HELD`, `NOT_LANDED` where the target has no such task any more, or `ERROR`.

    Raises:
        ChaosAgentError: A run cannot be repeated.
    """
    if record.task.id not in today.experiment.target.tasks:
        detail = f"the target has no task {record.task.id!r} any more; the record no longer tests anything"
        return Replay(ReplayOutcome.NOT_LANDED, MODE, None, detail)
    broken = _broken(record, today)
    if broken:
        return _violated(broken, len(today.undisturbed.trace.steps))
    different = _difference(today, options)
    if isinstance(different, Replay):
        return different
    changes, notes = _changes(record, today)
    held = Replay(ReplayOutcome.HELD, MODE, None, "the task ends as recorded", different)
    return reviewed(held, changes, notes, options.accepted)


def _broken(record: ReplayRecord, today: Today) -> list[ContractVerdict]:
    """Return what today's run breaks, by itself or in comparison with the record's."""
    trace, experiment = today.undisturbed.trace, today.experiment
    compared = compared_nominal(record, trace)
    settings = experiment.config.settings
    by_record = judge(trace, experiment.contracts, experiment.task, compared, settings=settings)
    pairs = zip(trace.verdicts, by_record, strict=True)
    return [own if is_broken(own) else other for own, other in pairs if is_broken(own) or is_broken(other)]


def _violated(broken: list[ContractVerdict], step_count: int) -> Replay:
    first, others = broken[0], [verdict.contract for verdict in broken[1:]]
    violation = first.violation
    step = None if violation is None else violation.step
    reason = f": {violation.reason}" if violation is not None and violation.reason else ""
    detail = f"{first.contract} violated {violation_place(step, step_count)}, without any fault{reason}"
    notes = (f"{', '.join(others)} violated, too",) if others else ()
    return Replay(ReplayOutcome.VIOLATED, MODE, step, detail, notes, failure=Failure.OWN)


def _difference(today: Today, options: Options) -> Replay | tuple[str, ...]:
    """Repeat the run in processes of its own: return what is wrong, or notes where all go the same way."""
    nominal = today.experiment.nominal
    if options.cold is None or nominal is None:
        return ()
    different = cold_difference({EMPTY: today.undisturbed}, nominal, options.cold)
    if not isinstance(different, ColdDifference):
        return different
    broken = _broken_in(different.evaluation)
    if broken:
        detail = f"{broken} violated, though it holds where other runs were made before: {different.text}"
        return Replay(ReplayOutcome.VIOLATED, MODE, None, detail, failure=Failure.OWN)
    detail = f"the target does not repeat its runs, so it cannot be judged: {different.text}"
    return Replay(ReplayOutcome.ERROR, MODE, None, detail)


def _broken_in(evaluation: Evaluation) -> str:
    return next((one.contract for one in evaluation.verdicts if is_broken(one)), "")


def _changes(record: ReplayRecord, today: Today) -> tuple[list[Change], list[str]]:
    """Return what differs from the record, and notes on what does not count as a difference."""
    trace = today.undisturbed.trace
    declared, now = record.declarations or (), with_objective(today.declarations, today.experiment.target)
    changes, notes = declaration_changes(declared, now, ALL_CONTRACTS)
    effects = effects_change(record, trace)
    ending = None if trace.ending is record.trace.ending else ending_change(trace)
    found = (labels_change(record, today.experiment), effects, ending, _outcome_change(record, trace.outcome))
    changes.extend(change for change in found if change is not None)
    if effects is None:
        shared = set(declared) & set(now)
        changes.extend([*effect_losses(record, [trace], shared), *identity_changes(record, [trace])])
    added = [effect.key for effect in added_effects(record, trace)]
    if added:
        notes.append(f"today's run commits {', '.join(added)}, too")
    if trace.ending is Ending.FINISHED and trace.outcome.message != record.trace.outcome.message:
        notes.append("the final message has other words")
    notes.extend(_call_notes(record, today))
    return changes, notes


def _outcome_change(record: ReplayRecord, now: Outcome) -> Change | None:
    """Return that the outcome is another one than in the record, `None` if it is not."""
    known = record.trace.outcome
    names = [name for name in COMPARED if _digest(known, name) != _digest(now, name)]
    if not names:
        return None
    text = f"today's run ends with another outcome than the record's ({', '.join(names)}{_success(names, now)})"
    return Change("outcome", text, digest_of(["outcome", *names, *(_digest(now, name) for name in COMPARED)]))


def _success(names: list[str], now: Outcome) -> str:
    return ": the objective is no longer met" if "success" in names and now.success is False else ""


def _digest(outcome: Outcome, name: str) -> str:
    if name == "claims":
        return digest_of(sorted(digest_of([claim.kind, claim.identity]) for claim in outcome.claims))
    return digest_of(getattr(outcome, name))


def _call_notes(record: ReplayRecord, today: Today) -> Iterator[str]:
    known, now = record.undisturbed, nominal_run_in(today.undisturbed.trace)
    if known is None or known.digest == now.digest:
        return
    gone, new = (
        [" ".join(call) for call in one if call not in other]
        for one, other in ((known.calls, now.calls), (now.calls, known.calls))
    )
    if gone:
        yield f"no longer called: {', '.join(gone)}"
    if new:
        yield f"called for the first time: {', '.join(new)}"
    if not gone and not new:
        yield "it makes other steps than the record's to the same end"
