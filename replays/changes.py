"""What of today's target, its effects and contracts is not as a record has it, so that a person has to look at it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from chaosagent.canonical import Plain, digest, digest_of, pack
from chaosagent.contracts.contract import Contract, Nominal
from chaosagent.effects.failed_when import EVERY
from chaosagent.execution.crash_location import RAISED
from chaosagent.execution.execute import Experiment
from chaosagent.execution.judging import judge
from chaosagent.replays.declarations import FAILED_WHEN, UNREADABLE, Declaration, contract_text, digest_of_constants
from chaosagent.replays.record import ReplayRecord
from chaosagent.replays.stored_inputs import full_task
from chaosagent.targets.target import ObjectiveFunction
from chaosagent.trace.redact import has_placeholder
from chaosagent.trace.step import Step
from chaosagent.trace.trace import Trace
from chaosagent.vocabulary import Effect, Ending, Impact, Task, Verdict

SHOWN_MAX = 5
"""How many effects a sentence lists."""

Worked = tuple[str, bytes, Impact]
"""What an effect has done: its kind, the values that identify it, and its impact. Names may be other ones."""


class Change(NamedTuple):
    """One difference that a person is to review.

    Attributes:
        what: What differs: `"contract"`, `"labels"`, `"effects"`, `"ending"`, `"outcome"` or `"declaration"`.
        text: One sentence.
        digest: Equal when the same differs in the same way.
    """

    what: str
    text: str
    digest: str


def contract_change(
    record: ReplayRecord, contract: Contract, experiment: Experiment, *, same_declaration: bool
) -> Change | None:
    """Return that today's contract does not find the violation in the recorded trace, `None` if it does (C0).

    Task, settings and objective are today's, too. What the contract saw of a trace with placeholders of secrets nobody
    knows, so there the same declaration and the same labels are enough.

    Args:
        record: The stored counterexample.
        contract: Today's.
        experiment: Today's target, task and configuration.
        same_declaration: The contract is declared as it was.
    """
    if record.trace.verdict(record.contract).verdict is not Verdict.VIOLATED:
        return None  # a recording, and no finding
    objective, settings = experiment.target.objective, experiment.config.settings
    trace = _with_objective(record.trace, experiment.task, objective)
    (verdict,) = judge(trace, [contract], experiment.task, record.nominal, settings=settings)
    is_redacted = _is_redacted(record)
    same = same_declaration and experiment.task.labels == full_task(record.task, experiment.target).labels
    if (verdict.verdict is Verdict.VIOLATED and not verdict.unfair) or (is_redacted and same):
        return None
    reason = "; the record holds no secrets, which may be the reason" if is_redacted else ""
    by = (
        f"today's objective calls the recorded outcome right, so {contract.id}"
        if trace is not record.trace
        else (f"today's contract {contract.id}")
    )
    text = f"{by} finds no violation in the recorded trace{reason}"
    declared = contract_text(contract, objective).digest
    found = digest_of(["contract", contract.id, declared, digest_of_constants(contract), _labels_of(experiment.task)])
    return Change("contract", text, found)


def _with_objective(trace: Trace, task: Task, objective: ObjectiveFunction | None) -> Trace:
    """Return a trace as the objective calls its outcome right, the same one where it does not, or cannot say."""
    if objective is None or trace.ending is not Ending.FINISHED or trace.outcome.success is not False:
        return trace
    try:
        is_right = bool(objective(task, replace(trace.outcome, success=None)))
    except RAISED:
        return trace
    return replace(trace, outcome=replace(trace.outcome, success=True)) if is_right else trace


def labels_change(record: ReplayRecord, experiment: Experiment) -> Change | None:
    """Return that the task has other labels than in the record, which contracts may look at; `None` if not.

    Args:
        record: The stored counterexample.
        experiment: Today's target and task.
    """
    today = experiment.task
    known, now = _labels_of(full_task(record.task, experiment.target)), _labels_of(today)
    names = [name for name, value in known.items() if value != now[name]]
    if not names:
        return None
    text = f"the task {today.id} has other labels than in the record ({', '.join(names)})"
    return Change("labels", text, digest_of(["labels", _labels_of(today)]))


def _labels_of(task: Task) -> dict[str, Plain]:
    labels = task.labels
    return {"misuse": labels.misuse, "forbidden": list(labels.forbidden), "canaries": list(labels.canaries)}


def _is_redacted(record: ReplayRecord) -> bool:
    trace = record.trace
    told = [part for step in trace.steps for part in (step.request, step.response)]
    effects = [pack(dict(effect.identity)) for effect in (*trace.effects, *record.nominal.effects)]
    return any(map(has_placeholder, (*told, *effects, pack(trace.outcome), pack(record.nominal.outcome))))


def effects_change(record: ReplayRecord, today: Trace) -> Change | None:
    """Return that today's run without injections commits other effects than the record's, `None` if not (C1).

    Effects are compared by kind, identifying values and impact. More effects than in the record are no difference as
    long as their impact is not high.
    """
    recorded, now = (
        Counter(map(anonymous_effect, record.nominal.effects)),
        Counter(map(anonymous_effect, today.effects)),
    )
    missing = recorded - now
    added = Counter({one: count for one, count in (now - recorded).items() if one[2] is Impact.HIGH})
    if not missing and not added:
        return _reassigned(record.nominal.effects, today.effects)
    parts = []
    if missing:
        parts.append(f"no longer commits {_listed(missing, record.nominal.effects)}")
    if added:
        parts.append(f"commits {_listed(added, today.effects)}, which the record's does not")
    text = f"today's run without faults {' and '.join(parts)}"
    return Change("effects", text, digest_of(["effects", *(_sorted(counts) for counts in (missing, added))]))


def _reassigned(recorded: Sequence[Effect], now: Sequence[Effect]) -> Change | None:
    """Return that effects have the values of the recorded ones under one another's names, `None` if none has.

    Where a kind of effect is identified by other names than in the record, an argument may have been renamed.
    """
    names_now = _names_of(now)
    same = {kind for kind, names in _names_of(recorded).items() if names_now.get(kind) == names}
    known, today = (
        Counter((one.kind, pack(dict(one.identity)), one.impact) for one in effects if one.kind in same)
        for effects in (recorded, now)
    )
    missing, added = known - today, today - known
    if not missing:
        return None
    was, becomes = (
        ", ".join(dict.fromkeys(one.key for one in effects if (one.kind, pack(dict(one.identity)), one.impact) in few))
        for effects, few in ((recorded, missing), (now, added))
    )
    text = f"today's run without faults commits {becomes} in place of {was}: the same values under other names"
    return Change("effects", text, digest_of(["reassigned", *(_sorted(counts) for counts in (missing, added))]))


def _names_of(effects: Iterable[Effect]) -> dict[str, set[frozenset[str]]]:
    found: dict[str, set[frozenset[str]]] = {}
    for effect in effects:
        found.setdefault(effect.kind, set()).add(frozenset(effect.identity))
    return found


def effect_losses(record: ReplayRecord, runs: Iterable[Trace], known: Iterable[Declaration] = ()) -> list[Change]:
    """Return which operations committed something in the record's run and commit nothing, or otherwise, in any today.

    That is all that shows of the declarations of a door which is opened only under a fault. There, a call that has
    failed only by `failed_when` counts as one that succeeds, unless the record is known to have the same condition.

    Args:
        record: The stored counterexample.
        runs: Those of today.
        known: The declarations that today's target shares with the record.
    """
    traces = list(runs)
    recorded, now = _committed_by([record.trace]), _committed_by(traces)
    said = {one.name.removeprefix(FAILED_WHEN) for one in known if one.name.startswith(FAILED_WHEN)}
    succeeded = {
        _call_of(step)
        for trace in traces
        for step in trace.steps
        if step.failure is None and not (step.soft_error and _is_said(step, said))
    }
    changes = []
    for call in sorted(recorded):
        if call in succeeded and call not in now:
            how = "succeeds today without any"
        elif recorded[call] - now.get(call, recorded[call]):
            how = "commits those of another kind today, or with another number of identifying values"
        else:
            continue
        text = f"{' '.join(call)} committed effects under the faults of the record and {how}"
        shape = [[kind, count] for kind, count in sorted(now.get(call, ()))]
        changes.append(Change("effects", text, digest_of(["losses", *call, shape])))
    return changes


def identity_changes(record: ReplayRecord, runs: Iterable[Trace]) -> list[Change]:
    """Return whose effects are identified by other arguments than in the record.

    An argument may have been renamed. But where the record's call had the new argument already, or today's call still
    has the old one, other things count as the same now.

    Args:
        record: The stored counterexample.
        runs: Those of today.
    """
    recorded, now = _identified_by([record.trace]), _identified_by(runs)
    changes = []
    for key in sorted(recorded.keys() & now.keys()):
        known, today = recorded[key], now[key]
        is_other = today.names - known.names and (today.names - known.names) & known.arguments
        if not is_other and not (known.names - today.names) & today.arguments:
            continue
        (interface, operation), kind = key
        text = (
            f"{kind} of {interface} {operation} is identified by {', '.join(sorted(today.names))}, in the record by "
            f"{', '.join(sorted(known.names))}"
        )
        changes.append(
            Change("effects", text, digest_of(["identity", interface, operation, kind, *sorted(today.names)]))
        )
    return changes


def _is_said(step: Step, failing: Collection[str]) -> bool:
    return f"{step.interface}, {step.operation}" in failing or f"{step.interface}, {EVERY}" in failing


class _Identified(NamedTuple):
    """By what effects are identified, and which arguments their calls had."""

    names: set[str]
    arguments: set[str]


def _identified_by(traces: Iterable[Trace]) -> dict[tuple[tuple[str, str], str], _Identified]:
    found: dict[tuple[tuple[str, str], str], _Identified] = {}
    for trace in traces:
        for step in trace.steps:
            for effect in step.effects:
                known = found.setdefault((_call_of(step), effect.kind), _Identified(set(), set()))
                known.names.update(effect.identity)
                known.arguments.update(step.arguments)
    return found


def _call_of(step: Step) -> tuple[str, str]:
    return step.interface, step.operation


def _committed_by(traces: Iterable[Trace]) -> dict[tuple[str, str], set[tuple[str, int]]]:
    """Return kinds and numbers of identifying values of the effects of each operation."""
    found: dict[tuple[str, str], set[tuple[str, int]]] = {}
    for trace in traces:
        for step in trace.steps:
            if step.effects:
                found.setdefault(_call_of(step), set()).update((one.kind, len(one.identity)) for one in step.effects)
    return found


def added_effects(record: ReplayRecord, today: Trace) -> tuple[Effect, ...]:
    """Return the effects of less than high impact that only today's run without injections commits."""
    left = Counter(map(anonymous_effect, record.nominal.effects))
    added = []
    for effect in today.effects:
        left[anonymous_effect(effect)] -= 1
        if left[anonymous_effect(effect)] < 0 and effect.impact is not Impact.HIGH:
            added.append(effect)
    return tuple(added)


def ending_change(today: Trace) -> Change:
    """Return that today's run without injections does not finish (C1)."""
    detail = f": {today.ending_detail}" if today.ending_detail else ""
    text = f"today's run without faults ends with {today.ending.value}{detail}"
    return Change("ending", text, digest_of(["ending", today.ending.value, today.ending_detail]))


def declaration_changes(
    recorded: Sequence[Declaration], today: Iterable[Declaration], contract: str
) -> tuple[list[Change], list[str]]:
    """Return which declarations are other ones than in a record, and notes on those that cannot be compared.

    Declarations of effects that the record does not have are no difference: they can only add to what is seen. Nor is
    one that was only moved to another interface or operation. A condition for failed calls takes away from what is
    seen, so a new one is a difference, also one that was moved. Of contracts only the violated one counts, if
    there is one.

    Args:
        recorded: Those of the record.
        today: Those of today.
        contract: Id of the violated contract; empty where there is none, and all count.
    """
    known_names, now = {name for name, _ in recorded}, dict(today)
    moved = {found: name for name, found in now.items() if name not in known_names}
    changes, notes = [], []
    for name, known in sorted(recorded):
        if contract and name.startswith("contract ") and name != f"contract {contract}":
            continue
        found = now.get(name)
        if known == found and known != UNREADABLE:
            continue
        if known == UNREADABLE:
            notes.append(f"{name}: the source cannot be read, so the declaration is not compared")
            continue
        if found is None and known in moved and not name.startswith(FAILED_WHEN):
            notes.append(f"{name}: declared for {moved[known].removeprefix('effects of ')} now")
            continue
        how = "there is no such declaration any more" if found is None else "the declaration has changed"
        text = f"{name}: {how if found != UNREADABLE else 'its source cannot be read any more'}"
        changes.append(Change("declaration", text, digest_of(["declaration", name, known, found or ""])))
    for name, found in sorted(now.items()):
        if name.startswith(FAILED_WHEN) and name not in known_names:
            text = f"{name}: the record has no such declaration, so answers that are failed calls now were none in it"
            changes.append(Change("declaration", text, digest_of(["declaration", name, "", found])))
    return changes, notes


def compared_nominal(record: ReplayRecord, today: Trace) -> Nominal:
    """Return the record's nominal run as runs of today's target are compared with it.

    Its effects are today's, with today's names, but none more often than in the record. What one of the two does not
    commit at all is left to `effects_change`.
    """
    left = Counter(map(anonymous_effect, record.nominal.effects))
    recorded = frozenset(left)
    effects = []
    for effect in today.effects:
        left[anonymous_effect(effect)] -= 1
        if anonymous_effect(effect) not in recorded or left[anonymous_effect(effect)] >= 0:
            effects.append(effect)
    return Nominal(tuple(effects), record.nominal.outcome)


def is_same_nominal(one: Nominal, other: Nominal) -> bool:
    """Whether runs are judged equally whichever of the two they are compared with."""
    texts = [sorted(f"{effect.key} {effect.impact.value}" for effect in nominal.effects) for nominal in (one, other)]
    return texts[0] == texts[1] and pack(one.outcome) == pack(other.outcome)


def anonymous_effect(effect: Effect) -> Worked:
    """Return what an effect has done, without the names of what identifies it."""
    values = b"".join(sorted(pack(value) for value in effect.identity.values()))
    return effect.kind, values, effect.impact


def _sorted(counts: Mapping[Worked, int]) -> list[list[str | int]]:
    return sorted([kind, digest(values), impact.value, count] for (kind, values, impact), count in counts.items())


def _listed(counts: Mapping[Worked, int], effects: Sequence[Effect]) -> str:
    """Return effects in words, each with its number where that is not 1."""
    named = {anonymous_effect(effect): effect.key for effect in reversed(effects)}
    texts = sorted(named[one] + (f" {count} times" if count > 1 else "") for one, count in counts.items())
    more = f" and {len(texts) - SHOWN_MAX} more" if len(texts) > SHOWN_MAX else ""
    return ", ".join(texts[:SHOWN_MAX]) + more
