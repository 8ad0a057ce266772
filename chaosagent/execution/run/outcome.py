"""The outcome of a run: as plain data, judged by its objective, and without secrets."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import cast

from chaosagent.canonical import Plain, plain
from chaosagent.errors import TargetError, UsageError
from chaosagent.execution.crash_location import RAISED, with_place
from chaosagent.execution.failures import message_of
from chaosagent.execution.run.recorder import redacted_identity
from chaosagent.targets.target import Target
from chaosagent.trace.redact import Redactor
from chaosagent.trace.trace import ContractVerdict
from chaosagent.vocabulary import Claim, Outcome, Task

RECORD_DEPTH = 6
"""Levels that a replay record puts around an outcome; they count against the depth that plain data may have."""


def outcome_of(target: Target, task: Task, result: object, state: Plain, *, is_faulty: bool) -> Outcome:
    """Return what a target handed back as plain data, with its objective decided.

    Args:
        target: The system under test.
        task: One of its tasks.
        result: What the target handed back.
        state: Of the world, where the outcome does not say it.
        is_faulty: A fault has landed; then nobody knows whether an outcome is right that makes the objective raise.

    Raises:
        TargetError: It is no outcome, or the objective raised without any fault.
    """
    name, objective = target.name, target.objective
    if result is None or isinstance(result, str):
        result = Outcome(message=result or "")
    if not isinstance(result, Outcome):
        if inspect.iscoroutine(result):
            result.close()
        raise TargetError(
            f"target {name!r} returned {type(result).__name__}; "
            "it must return an Outcome, a text (the final message) or None."
        )
    outcome = _plain_outcome(name, result)
    if outcome.state is None and state is not None:
        outcome = replace(outcome, state=state)
    if outcome.success is None and objective is not None:
        try:
            return replace(outcome, success=bool(objective(task, outcome)))
        except RAISED as error:  # the objective's mistake must not look like a result
            if is_faulty:
                return outcome
            raise TargetError(
                f"the objective of target {name!r}, task {task.id!r}, raised {with_place(error)}"
            ) from error
    return outcome


_PLAIN_FACTS = frozenset({(str, bool, bool), (str, type(None), bool)})


def _plain_outcome(name: str, outcome: Outcome) -> Outcome:
    message, success = cast("object", outcome.message), cast("object", outcome.success)
    plain_facts = (type(message), type(success), type(outcome.refused)) in _PLAIN_FACTS
    if plain_facts and not outcome.claims and outcome.state is None:
        return outcome  # most are; making it anew would cost a run of six crossings 3 %
    if not isinstance(message, str) or not isinstance(success, bool | None):
        raise TargetError(
            f"target {name!r} returned Outcome(message={_shown(message)}, success={_shown(success)}); "
            "the message must be a text, success True, False or None."
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
