"""Steps and ends of runs as `chaosagent.*` attributes of spans, and back: whatever the conventions have no word for.

Texts, flags and numbers stand under their own names, lists and mappings as tagged JSON; so does, under a name that ends
in `.json`, what JSON cannot say in its own way. Requests and answers are given back byte for byte.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from chaosagent.canonical import Plain, pack, plain, unpack_untrusted
from chaosagent.errors import UsageError
from chaosagent.trace.genai_names import OWN
from chaosagent.trace.otlp import Value
from chaosagent.trace.step import Step
from chaosagent.trace.tagged import from_tagged, has_surrogates, to_tagged
from chaosagent.trace.trace import Trace

ITEMS_MAX = 1_000_000
JSON_SUFFIX, PACKED = ".json", "$packed"
"""Of the name of an attribute in tagged JSON; and the key of canonical bytes that are written as they are."""


def step_attributes(step: Step) -> dict[str, Value]:
    """Return the attributes that hold all of a step."""
    failure, landed, decision = step.failure, step.landed, step.decision
    return _written(
        {
            "index": step.index,
            "kind": step.kind.value,
            "agent": step.agent,
            "role": step.role,
            "boundary": "" if step.boundary is None else step.boundary.value,
            "interface": step.interface,
            "occurrence": step.occurrence,
            "attempt": step.attempt,
            "operation": step.operation,
            "request": _packed(step.request),
            "response": _packed(step.response),
            "failure": None if failure is None else list(failure),
            "asked_at": step.asked_at,
            "arrived_at": step.arrived_at,
            "decision": [decision.mediation.value, decision.reason, decision.proposed],
            "landed": None
            if landed is None
            else [landed.injection, landed.operator, landed.landing.value, landed.description],
            "effects": [[kind, plain(identity), impact.value] for kind, identity, impact in step.effects],
            "links": [list(link) for link in step.links],
            "egress": step.egress,
            "inside": step.inside,
            "soft_error": step.soft_error,
        }
    )


def run_attributes(trace: Trace) -> dict[str, Value]:
    """Return the attributes that hold all of a trace besides its steps."""
    outcome = trace.outcome
    return _written(
        {
            "digest": trace.digest,
            "task_id": trace.task_id,
            "config_digest": trace.config_digest,
            "seed": trace.seed,
            "step_count": len(trace.steps),
            "ending": trace.ending.value,
            "ending_detail": trace.ending_detail,
            "crashed_at": trace.crashed_at,
            "links": [list(link) for link in trace.links],
            "outcome": {
                "message": outcome.message,
                "success": outcome.success,
                "claims": [plain(claim) for claim in outcome.claims],
                "state": plain(outcome.state),
                "refused": outcome.refused,
            },
            "verdicts": [
                [
                    one.contract,
                    int(one.verdict),
                    one.margin,
                    None if one.violation is None else list(one.violation),
                    one.unfair,
                ]
                for one in trace.verdicts
            ],
        }
    )


def _written(facts: Mapping[str, Plain]) -> dict[str, Value]:
    """Return facts as attributes; what is empty is left out, and read back as such."""
    attributes: dict[str, Value] = {}
    for name, value in facts.items():
        key = f"{OWN}{name}"
        if value is None or value in ("", b"", []):
            continue
        if isinstance(value, list | Mapping | bytes):
            attributes[key] = to_tagged(value)
        elif _is_simple(value):
            attributes[key] = value  # type: ignore[assignment]  # a text, a flag or a number
        else:
            attributes[key + JSON_SUFFIX] = to_tagged(value)
    return attributes


def _is_simple(value: Plain) -> bool:
    if isinstance(value, str):
        return not has_surrogates(value)
    if isinstance(value, float):
        return math.isfinite(value)
    return not isinstance(value, int) or -(2**63) <= value < 2**63


def _packed(data: bytes) -> Plain:
    """Return canonical bytes as the plain data behind them, or as they are when those would give other bytes."""
    if not data:
        return None
    try:
        value = unpack_untrusted(data, items_max=ITEMS_MAX)
        if pack(from_tagged(to_tagged([value]))) == pack([value]) and pack(value) == data and value is not None:
            return [value]
    except (UsageError, ValueError):
        pass
    return {PACKED: data}
