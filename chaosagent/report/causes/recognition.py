"""Recognises known patterns of failure, each only where the trace shows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from chaosagent.contracts.contract import Nominal
from chaosagent.report.causes.headline import differences_of
from chaosagent.report.causes.pattern import (
    BROKEN_ANSWER,
    EARLY_PROMISE,
    FAILURE_NOT_HANDLED,
    INSTRUCTED_BY_DATA,
    NO_COMPENSATION,
    RETRY_WITHOUT_KEY,
    STALE_READ,
    UNBOUNDED_RETRY,
    WAIT_WITHOUT_LIMIT,
    Pattern,
)
from chaosagent.report.story import describe_effect
from chaosagent.trace.step import Step, StepKind
from chaosagent.trace.trace import Trace
from chaosagent.vocabulary import CUT_OFF, Claim, Ending, Impact, Landing, Mediation

REPEATS_MIN = 8
"""So many equal requests in a row, all of them failing, show a retry without a limit; fewer may be a large one."""
STALE = ("service.stale_response", "memory.stale_read", "retrieval.stale_index")
ATTACKS = ("memory.untrusted_note", "prompt.payload", "prompt.splice", "retrieval.poisoned_passage", "tools.poisoned")
BROKEN_ANSWERS = (
    "model.empty",
    "model.hallucinated_argument",
    "model.malformed_tool_call",
    "model.truncated_stream",
    "model.wrong_tool",
    "service.field_corruption",
    "service.partial_response",
    "service.schema_mismatch",
)


def pattern_in(trace: Trace, nominal: Nominal, contract: str) -> Pattern | None:
    """Return the known pattern that a counterexample shows; `None` where its trace shows none.

    Args:
        trace: Of the run under faults.
        nominal: What the run without faults committed and handed back.
        contract: That is broken.
    """
    if contract in ("no-crash", "termination"):
        return _in_end(trace)
    if contract == "at-most-once":
        return RETRY_WITHOUT_KEY if _is_retried(trace, contract) else None
    if contract in ("no-extra-effects", "no-leak") and _follows(trace, nominal, ATTACKS, leaks=contract == "no-leak"):
        return INSTRUCTED_BY_DATA
    if contract == "no-extra-effects" and _follows(trace, nominal, STALE, leaks=False):
        return STALE_READ
    if contract == "all-or-nothing" and _is_left_partial(trace, nominal):
        return NO_COMPENSATION
    if contract == "promises-kept" and _is_promised_early(trace):
        return EARLY_PROMISE
    return None


def _landed(trace: Trace) -> Iterator[Step]:
    return (step for step in trace.steps if step.landed is not None and step.landed.landing is Landing.LANDED)


def _calls(trace: Trace) -> list[Step]:
    kinds = (StepKind.CALL, StepKind.CANCELLED)
    return [step for step in trace.steps if step.boundary is not None and step.kind in kinds]


def _went_wrong(step: Step) -> bool:
    """Whether an agent had no answer to a call, or one that says that it has failed."""
    return step.has_failed or step.kind is StepKind.CANCELLED


def _is_retried(trace: Trace, contract: str) -> bool:
    """Whether an effect was committed by a call without an answer, and the same operation broke the contract by it."""
    violation = trace.verdict(contract).violation
    if violation is None:
        return False
    steps = [step for step in trace.steps if step.effects and step.boundary is not None]
    for place, first in enumerate(steps):
        if not _is_unanswered(first, trace):
            continue
        done = {effect.key for effect in first.effects}
        for later in steps[place + 1 :]:
            same = (later.agent, later.interface, later.operation) == (first.agent, first.interface, first.operation)
            again = done & {effect.key for effect in later.effects}
            if same and later.hook != first.hook and again and later.index == violation.step:
                return True
    return False


def _is_unanswered(step: Step, trace: Trace) -> bool:
    if step.kind is not StepKind.LATE:
        return _went_wrong(step)
    return any(call.hook == step.hook and _went_wrong(call) for call in _calls(trace))


def _follows(trace: Trace, nominal: Nominal, operators: Sequence[str], *, leaks: bool) -> bool:
    """Whether the only faults are of some operators, and an effect that they caused, or a leak, comes after them."""
    landed = list(_landed(trace))
    if not landed or any(step.landed is None or step.landed.operator not in operators for step in landed):
        return False
    if leaks:
        return True
    new = {effect for effect, _, before in differences_of(trace, nominal)[0] if not before}
    return any(describe_effect(effect) in new for step in trace.steps[landed[0].index + 1 :] for effect in step.effects)


def _is_left_partial(trace: Trace, nominal: Nominal) -> bool:
    """Whether some of several effects were committed, a call failed after that, and nothing was undone or handed on."""
    _, missing = differences_of(trace, nominal)
    if trace.ending is not Ending.FINISHED or not missing:
        return False
    if any(effect.impact is Impact.COMPENSATING for effect in trace.effects):
        return False
    first = next((step.index for step in trace.steps if step.effects), len(trace.steps))
    wanted = {effect.split("(")[0].partition(".")[0] for effect, _, _ in missing}
    return any(_went_wrong(step) and step.interface.partition(":")[2] in wanted for step in trace.steps[first + 1 :])


def _is_promised_early(trace: Trace) -> bool:
    """Whether the final message claims an effect whose call had no answer, and that was not committed."""
    failed = [step for step in _calls(trace) if _went_wrong(step) and step.decision.mediation is not Mediation.BLOCK]
    broken = [claim for claim in trace.outcome.claims if not _is_kept(claim, trace)]
    return any(_asks_for(step, claim) for claim in broken for step in failed)


def _asks_for(step: Step, claim: Claim) -> bool:
    """Whether a call would have committed what is claimed, as far as its arguments say."""
    asked = step.arguments
    is_meant = f"{step.interface.partition(':')[2]}.{step.operation}" == claim.kind
    return is_meant and all(asked[name] == value for name, value in claim.identity.items() if name in asked)


def _is_kept(claim: Claim, trace: Trace) -> bool:
    return any(
        effect.kind == claim.kind and all(effect.identity.get(key) == value for key, value in claim.identity.items())
        for effect in trace.effects
    )


def _in_end(trace: Trace) -> Pattern | None:
    calls = _calls(trace)
    if trace.ending is Ending.DEADLOCK:
        return WAIT_WITHOUT_LIMIT
    if trace.ending in CUT_OFF:
        return UNBOUNDED_RETRY if _repeats_failures(calls) else None
    if trace.ending is not Ending.CRASHED or not calls:
        return None
    last = calls[-1]
    if last.landed is None or last.landed.landing is not Landing.LANDED:
        return None
    if last.failure is not None:  # what the run ended with tells of it, so that nobody has got over it
        told = last.failure.message
        return FAILURE_NOT_HANDLED if told and told in trace.own_detail else None
    return BROKEN_ANSWER if last.landed.operator in BROKEN_ANSWERS and last.kind is StepKind.CALL else None


def _repeats_failures(calls: Sequence[Step]) -> bool:
    last = calls[-REPEATS_MIN:]
    same = {(step.agent, step.interface, step.operation) for step in last}
    return len(last) == REPEATS_MIN and len(same) == 1 and all(map(_went_wrong, last))
