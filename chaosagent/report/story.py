"""A counterexample as a person would tell it."""

from __future__ import annotations

import json
import math
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from chaosagent.canonical import Plain
from chaosagent.faults.injection import Injection
from chaosagent.replays.record import ReplayRecord
from chaosagent.report.page import Page, Span, bad, faint, good, name, notice, strong
from chaosagent.report.printable import printable
from chaosagent.study.certificate import RULES
from chaosagent.trace.reached_limit import reached_limit
from chaosagent.trace.step import Step, StepKind
from chaosagent.trace.trace import Trace, Violation
from chaosagent.vocabulary import Effect, Impact, Landing, Mediation, Verdict

ARGUMENTS_MAX = 120
ANSWER_MAX = 160
MESSAGE_MAX = 600
AROUND = 2
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def story_of(record: ReplayRecord, path: Path | None = None, *, whole: bool = False) -> Page:
    """Tell a counterexample: what was done, what happened, what broke, why each fault is needed, what is proved.

    Args:
        record: The counterexample.
        path: Where it is stored, for the commands at the end.
        whole: Show every step of the trace and not only those around injections and the violation, and cut nothing.
    """
    page = Page()
    violation = violation_of(record)
    page.line(strong(f"{record.contract} breaks in {record.task.id}"), faint(f"   {record.id}"))
    page.line(faint(f"target {record.target_name}, configuration {record.config.name}, seed {record.seed}"))
    page.gap().line(*_in_one_sentence(record, violation))
    _tell_schedule(page, record)
    broken_at = -1 if violation is None else violation.step
    shown = range(len(record.trace.steps)) if whole else window_of(record.trace, broken_at)
    broken = None if violation is None else (record.contract, violation)
    describe_trace(page, record.trace, shown, broken, whole=whole)
    _tell_end(page, record, whole=whole)
    _tell_effects(page, record)
    _tell_necessity(page, record)
    page.heading("What is shown" if record.stochastic else "What is proved")
    by_chance = record.confirmation is not None and not record.confirmation.confirmed
    certified = notice("cheapest confirmed  ") if record.stochastic else good("certified minimum  ")
    certified = notice("may be chance  ") if by_chance else certified
    minimal = "minimal, " if record.schedule.injections and len(record.proof.necessity) == len(record.schedule) else ""
    uncertified = "a cheaper one may exist" if record.stochastic else "not certified"
    page.line(certified if record.proof.certified else notice(f"{minimal}{uncertified}  "), indent=2)
    page.line(record.proof.text, indent=2, hang=0)
    for rule, meaning in RULES.items():
        if re.search(rf"\b{rule}\b", record.proof.text):
            page.line(faint(f"{rule}: {meaning}"), indent=4)
    if record.confirmation is not None:
        page.line(notice("by chance  "), str(record.confirmation), indent=2, hang=0)
    if path is not None:
        exact = replay_command(record.target_reference, path, "--mode exact")
        page.heading("Run it again")
        page.table(
            (),
            [
                (name(replay_command(record.target_reference, path)), "does it still break today's target?"),
                *([] if record.has_no_trace else [(name(exact), "offline, bit for bit")]),
            ],
        )
    return page


def replay_command(reference: str, path: Path, options: str = "") -> str:
    """Return the command that replays what is at a path; a target outside the working directory is named in it."""
    place = reference.rpartition(":")[0]
    outside = place.endswith(".py") and Path(place).is_absolute()
    target = f"--target {shlex.quote(reference)}" if outside else ""
    return " ".join(word for word in ("chaosagent replay", options, target, shlex.quote(str(path))) if word)


def violation_of(record: ReplayRecord) -> Violation | None:
    """Return where the record's contract was broken."""
    return next((verdict.violation for verdict in record.trace.verdicts if verdict.contract == record.contract), None)


def agent_of(trace: Trace, violation: Violation) -> str:
    """Return who broke a contract, empty when only the end of the run showed it: nobody acted there."""
    return violation.agent if violation.step < len(trace.steps) else ""


def quantity(number: int, singular: str, plural: str = "") -> str:
    """Return a number with its noun: small numbers as words, `"two faults"`."""
    written = NUMBERS[number] if number < len(NUMBERS) else f"{number}"
    return f"{written} {singular if number == 1 else plural or singular + 's'}"


def taken_over_text(count: int) -> str:
    """Say in brackets how many runs were taken over from another seed; nothing for none."""
    return f" ({count:,} taken over from another seed, as they do not read it)" if count else ""


def _in_one_sentence(record: ReplayRecord, violation: Violation | None) -> list[str | Span]:
    faults = quantity(len(record.schedule), "fault")
    together = " together" if len(record.schedule) > 1 else ""
    verb = "is" if len(record.schedule) == 1 else "are"
    enough = f"{faults.capitalize()}{together} (cost {record.cost:g}) {verb} enough"
    if violation is not None and violation.reason:
        return [f"{enough}: ", bad(violation.reason), "."]
    held = "; in the run that is kept here it held" if violation is None else ""
    return [f"{enough} to break ", bad(record.contract), f"{held}."]


def _tell_schedule(page: Page, record: ReplayRecord) -> None:
    page.heading(f"The schedule, cost {record.cost:g}")
    if not record.schedule.injections:
        page.line("nothing is injected: the target breaks the contract by itself", indent=2)
    describe_injections(page, record)


def describe_injections(page: Page, record: ReplayRecord) -> None:
    """List what a schedule injects, and what each of it does."""
    for number, injection in enumerate(in_order(record), 1):
        page.line(faint(f"{number}  "), notice(str(injection)), indent=2, hang=3)
        page.line(injection.operator.describe(), indent=5)


def in_order(record: ReplayRecord) -> list[Injection]:
    """Return the injections in the order in which they show in the trace."""
    shown = {step.landed.injection: step.index for step in reversed(record.trace.steps) if step.landed is not None}
    return sorted(record.schedule, key=lambda injection: shown.get(str(injection), len(record.trace.steps)))


# ---------------------------------------------------------------------- the trace


def describe_trace(
    page: Page,
    trace: Trace,
    shown: Sequence[int],
    broken: tuple[str, Violation] | None = None,
    *,
    whole: bool = False,
) -> None:
    """Tell some steps of a trace.

    Args:
        page: Where they are told.
        trace: Of the run.
        shown: Indices of the steps, in their order.
        broken: The contract that is told to be broken, and where.
        whole: Cut no request and no answer.
    """
    page.heading(f"What happened: {len(shown)} of {len(trace.steps)} steps")
    before = -1
    for index in shown:
        _tell_gap(page, index - before - 1)
        _tell_step(page, trace.steps[index], whole=whole)
        for retry in trace.retries:
            if retry.hook == trace.steps[index].hook:
                page.line(notice("its client retried by itself: "), str(retry), indent=19)
        if broken is not None and index == broken[1].step:
            _tell_broken(page, trace, *broken)
        before = index
    _tell_gap(page, len(trace.steps) - before - 1)


def window_of(trace: Trace, broken_at: int) -> list[int]:
    """Return the steps worth showing: those with injections, effects or decisions, and those around the violation."""
    wanted = {index for index, step in enumerate(trace.steps) if step.landed is not None or step.effects}
    wanted |= {index for index, step in enumerate(trace.steps) if step.decision.mediation is not Mediation.ALLOW}
    wanted |= {index + 1 for index, step in enumerate(trace.steps) if step.landed is not None}
    wanted |= set(range(broken_at - AROUND, broken_at + AROUND + 1)) if broken_at >= 0 else set()
    return sorted(index for index in wanted if 0 <= index < len(trace.steps))


def _tell_gap(page: Page, count: int) -> None:
    if count > 0:
        page.line(faint(f"... {count} more {'step' if count == 1 else 'steps'} (--all shows them)"), indent=9)


def _tell_step(page: Page, step: Step, *, whole: bool) -> None:
    hit = step.landed is not None and step.landed.landing is Landing.LANDED
    marker = notice("! ") if hit else "  "
    when = f"{step.arrived_at:g} s"
    page.line(marker, faint(f"{step.index:>4}  {when:>7}  "), *_action(step, whole=whole), indent=2, hang=17)
    if step.landed is not None:
        verb = "injected: " if hit else "injected, without any change: "
        page.line(notice(verb), f"{step.landed.operator}, {step.landed.description}", indent=19)
    if step.decision.mediation is not Mediation.ALLOW:
        verb = {Mediation.BLOCK: "blocked", Mediation.REWRITE: "rewritten"}[step.decision.mediation]
        page.line(notice(f"{verb} by the mediator: "), step.decision.reason, indent=19)
    for effect in step.effects:
        page.line(strong("committed: "), describe_effect(effect), indent=19)


def _action(step: Step, *, whole: bool) -> list[str | Span]:
    who = f"{step.agent}: " if step.agent else ""
    if step.kind is StepKind.NOTE:
        return [who, "notes ", strong(step.operation), f" {_arguments(step, whole=whole)}"]
    request = f" {step.operation}({_arguments(step, whole=whole)})"
    asked: list[str | Span] = [who, name(f"{step.interface}[{_count(step)}]"), request]
    if step.kind is StepKind.LATE:
        return [*asked, faint("  reaches the world late; nobody waits for it")]
    return [*asked, " → ", *_told(step, whole=whole)]


def _count(step: Step) -> str:
    return f"{step.occurrence}.{step.attempt}" if step.attempt else f"{step.occurrence}"


def _arguments(step: Step, *, whole: bool) -> str:
    inside = ", ".join(f"{key}={compact(value)}" for key, value in step.arguments.items())
    return printable(inside, characters_max=None if whole else ARGUMENTS_MAX, in_the_middle=True)


def _told(step: Step, *, whole: bool = False) -> list[str | Span]:
    answer_max = None if whole else ANSWER_MAX
    if step.kind is StepKind.CANCELLED:
        return [notice("given up before an answer came")]
    failure = step.failure
    if failure is None:
        told = printable(compact(step.answer), characters_max=answer_max, in_the_middle=True)
        why = f", a failed call: {step.soft_error}"
        return [told, notice(printable(why, characters_max=answer_max))] if step.soft_error else [told]
    status = f" {failure.status}" if failure.status is not None else ""
    message = f": {failure.message}" if failure.message else ""
    return [bad(f"{failure.kind}{status}"), printable(message, characters_max=answer_max)]


def compact(value: Plain) -> str:
    """Return plain data in one line, as JSON where that is possible."""
    try:
        return json.dumps(value, ensure_ascii=False, default=repr)
    except ValueError:
        return repr(value)


def _tell_broken(page: Page, trace: Trace, contract: str, violation: Violation) -> None:
    agent, at_end = agent_of(trace, violation), violation.step >= len(trace.steps)
    where = "at the end of the run" if at_end else f"here by {agent}" if agent else "here"
    page.line(bad(f"✗ {contract} is broken {where}: {violation.reason}"), indent=2)


# ---------------------------------------------------------------------- the end


def _tell_end(page: Page, record: ReplayRecord, *, whole: bool) -> None:
    trace, outcome = record.trace, record.trace.outcome
    page.line(faint(f"{'end':>6}           "), _ending_of(trace), indent=2, hang=17)
    if outcome.message:
        message = printable(outcome.message, characters_max=None if whole else MESSAGE_MAX)
        page.line(faint("final message: "), f'"{message}"', indent=19)
    for claim in outcome.claims:
        page.line(faint("it claims: "), describe_effect(Effect(claim.kind, claim.identity)), indent=19)
    violation = violation_of(record)
    if violation is not None and violation.step >= len(trace.steps):
        _tell_broken(page, trace, record.contract, violation)
    others = [
        verdict.contract
        for verdict in trace.verdicts
        if verdict.verdict is Verdict.VIOLATED and verdict.contract != record.contract
    ]
    if others:
        page.line(faint(f"violated in the same run, too: {', '.join(others)}"), indent=2)


def _ending_of(trace: Trace) -> str:
    """Say how a run ended, where it crashed, and which limit it went beyond."""
    detail = f": {trace.own_detail}" if trace.own_detail else ""
    where = f" (at {trace.crashed_at})" if trace.crashed_at else ""
    beyond = f", beyond the limit of {reached_limit(trace.exceeded)}" if trace.exceeded else ""
    return f"{trace.ending.value}{detail}{where}{beyond}"


def describe_effect(effect: Effect) -> str:
    """Return an effect in one line, with its impact where that is not high."""
    inside = ", ".join(f"{key}={compact(effect.identity[key])}" for key in sorted(effect.identity))
    impact = "" if effect.impact is Impact.HIGH else f" [{effect.impact.value}]"
    return f"{effect.kind}({inside}){impact}"


def _tell_effects(page: Page, record: ReplayRecord) -> None:
    """Set what was committed against what the agents were told, and against the run without faults."""
    committed = Counter(describe_effect(effect) for effect in record.trace.effects)
    nominal = Counter(describe_effect(effect) for effect in record.nominal.effects)
    effects = list(dict.fromkeys([*committed, *nominal]))
    page.heading("What was committed, and what the agents were told")
    if record.has_no_trace:
        page.line("not known: the worker process was ended, and its steps with it", indent=2)
        return
    if not effects:
        page.line("nothing was committed, nor is it in the run without faults", indent=2)
        return
    page.table(
        ("effect", "here", "without faults", "told"),
        [
            (
                printable(effect, characters_max=ARGUMENTS_MAX),
                bad(f"{committed[effect]}×") if committed[effect] != nominal[effect] else f"{committed[effect]}×",
                f"{nominal[effect]}×",
                "; ".join(_told_of(record.trace.steps, effect)) or faint("-"),
            )
            for effect in effects
        ],
    )


def _told_of(steps: Sequence[Step], effect: str) -> Iterable[str]:
    for step in steps:
        times = sum(describe_effect(committed) == effect for committed in step.effects)
        if times:
            told = "".join(part if isinstance(part, str) else part.text for part in _told(step))
            often = f" (committed {times} times there)" if times > 1 else ""
            yield f"step {step.index}: {printable(told, characters_max=80)}{often}"


def _tell_necessity(page: Page, record: ReplayRecord) -> None:
    if not record.proof.necessity:
        return
    page.heading("Why each fault is necessary")
    order = [str(injection) for injection in in_order(record)]
    for injection, without in sorted(
        record.proof.necessity, key=lambda row: order.index(row[0]) if row[0] in order else -1
    ):
        page.line("without ", notice(injection), indent=2)
        page.line(good(without), indent=5)


def story_json(record: ReplayRecord) -> dict[str, Plain]:
    """Return a record, of whatever it is, with its trace as plain data."""
    violation, trace = violation_of(record), record.trace
    is_recording = record.is_session or record.is_nominal
    return {
        "id": record.id,
        "target": record.target_name,
        "target_reference": record.target_reference,
        "config": record.config.name,
        "task": record.task.id,
        "seed": record.seed,
        "session": record.is_session,
        "without_faults": record.is_nominal,
        "contract": None if is_recording else record.contract,
        "signature": None if is_recording else str(record.signature),
        "schedule": record.schedule.text,
        "injections": [
            {"injection": str(injection), "describe": injection.operator.describe()} for injection in record.schedule
        ],
        "cost": record.cost,
        "certified": record.proof.certified and not record.stochastic,
        "lower_bound": record.proof.lower_bound
        if math.isfinite(record.proof.lower_bound) and not is_recording
        else None,
        "certificate": record.proof.text,
        "confirmation": None if record.confirmation is None else str(record.confirmation),
        "step": None if violation is None else violation.step,
        "agent": None if violation is None else agent_of(trace, violation) or None,
        "reason": None if violation is None else violation.reason,
        "necessity": [{"without": injection, "then": then} for injection, then in record.proof.necessity],
        "effects": [describe_effect(effect) for effect in trace.effects],
        "effects_without_faults": [describe_effect(effect) for effect in record.nominal.effects],
        "ending": trace.ending.value,
        "crashed_at": trace.crashed_at or None,
        "message": trace.outcome.message,
        "success": trace.outcome.success,
        "violated": [verdict.contract for verdict in trace.verdicts if verdict.verdict is Verdict.VIOLATED],
        "steps": [_step_json(step) for step in trace.steps],
        "retries": [dict(one._asdict()) for one in trace.retries],
        "digest": record.trace_digest,
        "provenance": dict(record.provenance),
    }


def _step_json(step: Step) -> Plain:
    failure, landed = step.failure, step.landed
    return {
        "index": step.index,
        "kind": step.kind.value,
        "agent": step.agent,
        "hook": step.hook if step.boundary is not None else "",
        "operation": step.operation,
        "arguments": compact(step.arguments),
        "answer": None if failure is not None else compact(step.answer),
        "failure": None if failure is None else failure.kind,
        **({"soft_error": step.soft_error} if step.soft_error else {}),
        "asked_at": step.asked_at,
        "arrived_at": step.arrived_at,
        "mediation": step.decision.mediation.value,
        "injected": None if landed is None else landed.injection,
        "landing": None if landed is None else landed.landing.value,
        "committed": [describe_effect(effect) for effect in step.effects],
    }
