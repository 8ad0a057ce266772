"""How a run ended: its outcome without secrets, the limits it used, and door calls that were never awaited."""

from __future__ import annotations

import asyncio
import inspect
from collections import defaultdict
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

from chaosagent.canonical import Plain, plain
from chaosagent.effects.suspect import SuspectAnswer, suspect
from chaosagent.errors import PluginError, SecretsError, StoredDataError, StudyError, TargetError, UsageError
from chaosagent.event_loop.virtual_time import VirtualLoop
from chaosagent.execution.crash_location import RAISED, with_place
from chaosagent.execution.failures import message_of
from chaosagent.execution.run.doors import DoorOptions, LiveDoor
from chaosagent.execution.run.live_run import LiveRun
from chaosagent.execution.run.recorder import Recorder, redacted_identity
from chaosagent.execution.run.run_state import RECORD_DEPTH
from chaosagent.faults.evaluation import Act
from chaosagent.faults.injection import Place
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.targets.decorated import called
from chaosagent.targets.target import Target
from chaosagent.trace.reached_limit import reached_limit
from chaosagent.trace.redact import Redactor
from chaosagent.trace.step import Link, StepKind
from chaosagent.trace.trace import ContractVerdict, Trace
from chaosagent.vocabulary import LIMITS_REACHED, Claim, Ending, Outcome, Task


def outcome_of(target: Target, task: Task, result: object, state: Plain, *, is_faulty: bool) -> Outcome:
    """Return what a target handed back as plain data, with its objective decided.

    Args:
        target: The system under test.
        task: One of its tasks.
        result: What the target handed back.
        state: Of the world, where the outcome does not say it.
        is_faulty: A fault has landed; then nobody knows whether an outcome is right that makes the objective raise.

    Raises:
        TargetError: It is no outcome, or the objective raised without any fault, or did not judge. A text, or nothing,
            is taken as the final message where an objective judges the run; and after a fault, as a path on which
            somebody forgot to return an outcome is no crash.
    """
    name, objective = target.name, target.objective
    said = result if isinstance(result, str) else "" if result is None else None
    if said is not None and (is_faulty or objective is not None):
        result = Outcome(said)
    if not isinstance(result, Outcome):
        if inspect.iscoroutine(result):
            result.close()
        what = "nothing" if result is None else "a text" if said is not None else type(result).__name__
        or_objective = "" if said is None else ". Or give it an objective, which looks at the world at the end"
        raise TargetError(f"target {called(name, target.run)} returned {what}; {_RETURN}{or_objective}.")
    outcome = _plain_outcome(name, result)
    if outcome.state is None and state is not None:
        outcome = replace(outcome, state=state)
    if outcome.success is None and objective is not None:
        whose = f"the objective of target {name!r}, task {task.id!r},"
        try:
            judged = _judgement(objective(task, outcome))
        except RAISED as error:  # the objective's mistake must not look like a result
            if is_faulty:
                return outcome
            raise TargetError(f"{whose} raised {with_place(error)}") from error
        if isinstance(judged, str):
            if is_faulty:
                return outcome
            raise TargetError(f"{whose} {judged}.")
        return replace(outcome, success=judged)
    return outcome


def _judgement(returned: object) -> bool | str:
    """Return whether an objective was met, or what is wrong with what it has returned."""
    if inspect.iscoroutine(returned):
        returned.close()
        return "is asynchronous, and nobody awaits it. Write `def` instead of `async def`"
    if isinstance(returned, str | tuple):  # each would count as true
        return f"returned a {type(returned).__name__}; it must return True or False"
    return bool(returned)


_RETURN = "it must return chaosagent.Outcome(message, success=...): what it says at its end, and whether that is right"
_PLAIN_FACTS = frozenset({(str, bool, bool), (str, type(None), bool)})


def _plain_outcome(name: str, outcome: Outcome) -> Outcome:
    message, success = cast("object", outcome.message), cast("object", outcome.success)
    plain_facts = (type(message), type(success), type(outcome.refused)) in _PLAIN_FACTS
    if plain_facts and not outcome.claims and outcome.state is None:
        return outcome  # most are; making it anew would cost a run of six crossings 3 %
    if not isinstance(message, str) or not isinstance(success, bool | None):
        raise TargetError(
            f"target {name!r} returned Outcome(message={_shown(message)}, success={_shown(success)}); "
            "the message must be a text, success True, False or None (not known). Correct what the target returns."
        )
    odd = next((one for one in cast("tuple[object, ...]", outcome.claims) if not hasattr(one, "identity")), None)
    if odd is not None:
        raise TargetError(
            f"target {name!r} returned {_shown(odd)} among its claims. A claim has the kind of an effect and what "
            'identifies it: chaosagent.Claim("payments.refund", {"order": "A-17"}).'
        )
    try:
        claims = tuple(
            Claim(str(claim.kind), cast("dict[str, Plain]", plain(claim.identity, RECORD_DEPTH)), str(claim.evidence))
            for claim in outcome.claims
        )
        return Outcome(message, success, claims, plain(outcome.state, RECORD_DEPTH), bool(outcome.refused))
    except MemoryError:
        raise
    except UsageError as error:
        raise TargetError(f"target {name!r} returned an outcome that is not plain data: {error}") from error
    except Exception as error:  # of a claim that is none
        raise TargetError(f"target {name!r} returned an outcome that is not plain data: {message_of(error)}") from error


def _shown(value: object) -> str:
    """Return a value as people read it; how a stranger's looks may differ from run to run."""
    return repr(value)[:60] if type(value) in (str, bytes, bool, float, type(None)) else f"<{type(value).__name__}>"


def redacted_claims(outcome: Outcome, redactor: Redactor) -> tuple[Claim, ...]:
    """Return claims as effects are stored: contracts compare the two."""
    return tuple(claim._replace(identity=redacted_identity(claim.identity, redactor)) for claim in outcome.claims)


def redacted_verdict(verdict: ContractVerdict, redactor: Redactor) -> ContractVerdict:
    """Return a verdict without secrets."""
    violation = verdict.violation
    if violation is None:
        return verdict
    return verdict._replace(violation=violation._replace(reason=redactor.text(violation.reason)))


class Usage(NamedTuple):
    """The same-named fields of `Evaluation`.

    Attributes:
        spent: The largest share of one of its limits that the run has used.
        spent_limit: Which limit.
        declares_effects: Some door declares effects.
        tied: A wait and a time-out have ended at the same instant.
    """

    spent: float
    spent_limit: str
    declares_effects: bool
    tied: bool = False


def usage_of(run: LiveRun, ending: Ending, exceeded: str) -> Usage:
    """Return what a run has used, before it lets go of its doors.

    Args:
        run: That has just ended.
        ending: How it ended.
        exceeded: The limit that a first run under the same schedule has reached; empty when there was none.
    """
    declares_effects = any(door.options.effects for door in run.doors.values())
    if exceeded:
        return Usage(1.0, reached_limit(exceeded).key, declares_effects)
    loop, limits = run.loop, run.recorder.limits
    spent, key, tied = len(run.recorder.steps) / max(1, limits.steps_max), "run.steps", False
    if isinstance(loop, VirtualLoop):
        tied = loop.tied
        turns, seconds = loop.shares
        if turns > spent:
            spent, key = turns, "run.turns" if limits.turns_max <= limits.turns_total_max else "run.turns_total"
        if seconds > spent:
            spent, key = seconds, "run.virtual_seconds"
    return Usage(1.0 if ending in LIMITS_REACHED else min(1.0, spent), key, declares_effects, tied)


def suspects_of(trace: Trace, doors: Mapping[str, DoorOptions]) -> tuple[SuspectAnswer, ...]:
    """Return the answers that look like errors and count as commits, the first of each call without a rule for them.

    Args:
        trace: Of a run without injections.
        doors: What the target declares, by interface.
    """
    found: dict[str, SuspectAnswer] = {}
    for step in trace.steps:
        options, call = doors.get(step.interface), f"{step.interface} {step.operation}"
        if not step.effects or step.kind is not StepKind.CALL or call in found or options is None:
            continue
        looks = suspect(call, step.answer) if options.failed_when.condition(step.operation) is None else None
        if looks is not None:
            found[call] = looks
    return tuple(found.values())


def support_of(run: LiveRun) -> tuple[Place, ...] | None:
    """Return the calls that the outcome was derived from; `None` when the target has not linked it to anything."""
    declared = [link for step in run.recorder.steps for link in step.links]
    found = origins([*declared, *run.recorder.links])
    calls = sorted({crossing.place._replace(attempt=0) for crossing in run.crossings})
    return tuple(call for call in calls if str(call) in found) if found else None


def close_unawaited(asked: Iterable[Coroutine[Any, Any, Any]]) -> TargetError | None:
    """Close the calls that were never awaited, and return the error that names the first of them.

    A call whose task was cancelled before it began is none of them.

    Args:
        asked: What `LiveRun.cross` returned to the target, call by call.
    """
    forgotten = [
        crossing
        for crossing in asked
        if crossing.cr_frame is not None  # type: ignore[attr-defined]  # a coroutine of ours; finished ones have none
        and inspect.getcoroutinestate(crossing) == inspect.CORO_CREATED
    ]
    if not forgotten:
        return None
    # What was asked is read from the call itself: keeping it beside every call would cost 2 % of a crossing.
    called = inspect.getcoroutinelocals(forgotten[0])
    door: LiveDoor = called["door"]
    for crossing in forgotten:
        crossing.close()
    return TargetError(
        f"{door.interface} {called['operation']} was called and never awaited, so the call did not happen. "
        "Write `await` in front of it."
    )


def unbegun_call(asked: Iterable[Coroutine[Any, Any, Any]], tasks: Iterable[asyncio.Task[Any]]) -> TargetError | None:
    """Return the error that names the first call whose task had not begun when the target returned.

    Args:
        asked: What `LiveRun.cross` returned to the target, call by call.
        tasks: Those that had not ended then.
    """
    waiting = {id(task.get_coro()) for task in tasks if not task.cancelling()}
    for crossing in asked if waiting else ():
        if id(crossing) in waiting and inspect.getcoroutinestate(crossing) == inspect.CORO_CREATED:
            called = inspect.getcoroutinelocals(crossing)
            return TargetError(
                f"{called['door'].interface} {called['operation']} was handed to a task, and the target returned "
                "before that began, so the call did not happen. Await the task before the target returns."
            )
    return None


def close_unbegun(loop: asyncio.AbstractEventLoop) -> None:
    """Close the coroutines of tasks that have not begun: Python would complain of each that it was never awaited."""
    for task in asyncio.all_tasks(loop):
        coroutine = task.get_coro()
        if inspect.iscoroutine(coroutine) and inspect.getcoroutinestate(coroutine) == inspect.CORO_CREATED:
            coroutine.close()


OUTCOME = "outcome"
"""The id of the outcome: `run.link("outcome", "derived_from", run.artifact())`."""

_FORWARD = frozenset({"supports", "returns"})
"""Relations in which the target is derived from the source; in all others it is the other way round."""


def origins(links: Iterable[Link], artifact: str = OUTCOME) -> frozenset[str]:
    """Return the ids of everything from which an artifact was derived, directly or through others.

    Args:
        links: That the target has declared.
        artifact: Id of the artifact; it is not among what is returned, unless it was derived from itself.
    """
    sources: defaultdict[str, list[str]] = defaultdict(list)
    for source, relation, target in links:
        derived, origin = (target, source) if relation in _FORWARD else (source, target)
        sources[derived].append(origin)
    found: set[str] = set()
    open_ = list(sources[artifact])
    while open_:
        origin = open_.pop()
        if origin not in found:
            found.add(origin)
            open_ += sources[origin]
    return frozenset(found)


def effective_of(acts: Sequence[Act], schedule: Schedule) -> Schedule:
    """Return what landed, where it did: most often all of the schedule, whose text and hash are known already."""
    if not acts:
        return EMPTY
    ordered = tuple(sorted([act.injection for act in acts], key=str))
    return schedule if ordered == schedule.injections else Schedule(ordered)


def raise_refused(target_name: str, task_id: str, recorder: Recorder) -> None:
    """Raise what made the run worthless, whether or not the target has swallowed it."""
    refused = recorder.refused
    if isinstance(refused, SecretsError | StoredDataError | StudyError):  # of a pattern or a file, not of what it does
        raise refused
    if refused is not None:
        kind = PluginError if isinstance(refused, PluginError) else TargetError
        raise kind(f"target {target_name!r}, task {task_id!r}: {refused}") from refused
