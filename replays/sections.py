"""The parts of a record as plain data and back: steps, effects, outcomes, verdicts, signatures."""

from __future__ import annotations

from chaosagent.canonical import Plain, unpack_untrusted
from chaosagent.errors import RecordError
from chaosagent.execution.run.frozen import FrozenAnswer
from chaosagent.replays.declarations import Declaration
from chaosagent.replays.record import NominalRun
from chaosagent.replays.typed import ITEMS_MAX, Section
from chaosagent.study.chance.confirmation import ALPHA, Confirmation
from chaosagent.study.counterexample import Signature
from chaosagent.trace.step import Decision, Landed, Link, Step, StepKind
from chaosagent.trace.trace import ContractVerdict, Violation
from chaosagent.trace.upstream_retry import UpstreamRetry
from chaosagent.vocabulary import (
    Boundary,
    Claim,
    Effect,
    Ending,
    Failure,
    Impact,
    Landing,
    Mediation,
    Outcome,
    Severity,
    Verdict,
)

RUNS_MAX = 100_000
"""Fresh runs that a record may tell of; Fisher's test is exact, so its time grows with them."""


def write_step(step: Step) -> Plain:
    """Return a step as plain data."""
    failure, landed = step.failure, step.landed
    return {
        "kind": step.kind.value,
        "agent": step.agent,
        "role": step.role,
        "boundary": None if step.boundary is None else step.boundary.value,
        "interface": step.interface,
        "occurrence": step.occurrence,
        "attempt": step.attempt,
        "operation": step.operation,
        "request": step.request,
        "response": step.response,
        "failure": None if failure is None else failure._asdict(),
        "asked_at": step.asked_at,
        "arrived_at": step.arrived_at,
        "mediation": step.decision.mediation.value,
        "reason": step.decision.reason,
        "proposed": step.decision.proposed,
        "landed": None if landed is None else {**landed._asdict(), "landing": landed.landing.value},
        "effects": [write_effect(effect) for effect in step.effects],
        "egress": step.egress,
        "links": [list(link) for link in step.links],
        "inside": step.inside,
        **({"soft_error": step.soft_error} if step.soft_error else {}),
    }


def read_step(section: Section, index: int) -> Step:
    """Return the step that plain data describe."""
    step = Step()
    step.index = index
    step.kind = section.word("kind", StepKind)
    step.agent, step.role = section.text("agent"), section.text("role")
    step.boundary = None if section.is_none("boundary") else section.word("boundary", Boundary)
    step.interface, step.operation = section.text("interface"), section.text("operation")
    step.occurrence, step.attempt = section.integer("occurrence"), section.integer("attempt")
    step.request, step.response = section.data("request"), section.data("response")
    _check_shape(step)
    step.failure = _read_failure(section.optional_section("failure"))
    step.asked_at, step.arrived_at = section.number("asked_at"), section.number("arrived_at")
    step.decision = Decision(section.word("mediation", Mediation), section.text("reason"), section.data("proposed"))
    landed = section.optional_section("landed")
    step.landed = None if landed is None else _read_landed(landed)
    step.effects = section.each("effects", read_effect)
    step.egress = section.flag("egress")
    step.links = tuple(read_link(link) for link in section.items("links"))
    step.inside = section.text("inside")
    step.soft_error = section.text("soft_error") if "soft_error" in section else ""
    step.seal()
    return step


def _check_shape(step: Step) -> None:
    """Refuse requests and responses whose bytes are not those of a pair."""
    _check_request(step.request, f"Step {step.index}")
    if step.response:
        _check_response(step.response, f"Step {step.index}")


def _check_request(data: bytes, where: str) -> None:
    asked = unpack_untrusted(data, items_max=ITEMS_MAX) if data else None
    match asked:
        case [str(), dict()]:
            pass
        case _:
            raise RecordError(f"{where} has the request {asked!r:.80}; it must be an operation and a map.")


def _check_response(data: bytes, where: str) -> None:
    told = unpack_untrusted(data, items_max=ITEMS_MAX)
    match told:
        case [_, None]:
            pass
        case [_, [str(), str(), int() | None, int() | float() | None, str(), list(), dict() | None]]:
            pass
        case _:
            raise RecordError(f"{where} has the response {told!r:.80}; it must be an answer and a failure.")


def read_answer(value: Plain) -> FrozenAnswer:
    """Return the frozen answer that plain data describe."""
    match value:
        case [str() as place, bytes() as request, bytes() as response]:
            _check_request(request, f"The frozen answer at {place!r:.80}")
            _check_response(response, f"The frozen answer at {place!r:.80}")
            return FrozenAnswer(place, request, response)
        case _:
            raise RecordError(f"A frozen answer is {value!r:.80}; it must be a place, a request and a response.")


def read_confirmation(section: Section | None) -> Confirmation | None:
    """Return the confirmation that plain data describe."""
    if section is None:
        return None
    runs, nominal_runs = section.integer("runs"), section.integer("nominal_runs")
    violations, nominal_violations = section.integer("violations"), section.integer("nominal_violations")
    errors = section.integer("errors")
    if not (
        0 <= violations <= runs <= RUNS_MAX and 0 <= nominal_violations <= nominal_runs <= RUNS_MAX and errors >= 0
    ):
        raise RecordError("record.confirmation has more violations than runs, or a number out of bounds.")
    evidence = section.optional_number("evidence") if "evidence" in section else None
    alpha = section.number("alpha") if "alpha" in section else ALPHA  # records of the first versions had neither
    if not 0 < alpha < 1 or (evidence is not None and evidence <= 0):
        raise RecordError("record.confirmation has an evidence or an alpha that is out of bounds.")
    return Confirmation(violations, runs, nominal_violations, nominal_runs, errors, evidence, alpha)


def _read_failure(section: Section | None) -> Failure | None:
    if section is None:
        return None
    return Failure(
        section.text("kind"),
        section.text("message"),
        section.optional_integer("status"),
        section.optional_number("retry_after"),
        section.text("name"),
        tuple(section.items("args")),
        None if section.is_none("attributes") else section.mapping("attributes"),
    )


def _read_landed(section: Section) -> Landed:
    return Landed(
        section.text("injection"),
        section.text("operator"),
        section.word("landing", Landing),
        section.text("description"),
    )


def read_link(value: Plain) -> Link:
    """Return the provenance link that plain data describe."""
    if not isinstance(value, list) or len(value) != 3 or not all(isinstance(part, str) for part in value):
        raise RecordError(f"A provenance link is {value!r:.80}; it must be three texts.")
    source, relation, target = value
    return Link(str(source), str(relation), str(target))


def read_retry(section: Section) -> UpstreamRetry:
    """Return the retry of a client that plain data describe."""
    return UpstreamRetry(
        section.text("hook"), section.text("sent"), section.text("failure"), section.integer("attempts")
    )


def write_effect(effect: Effect) -> Plain:
    """Return an effect as plain data."""
    return {"kind": effect.kind, "identity": effect.identity, "impact": effect.impact.value}


def read_effect(section: Section) -> Effect:
    """Return the effect that plain data describe."""
    return Effect(section.text("kind"), section.mapping("identity"), section.word("impact", Impact))


def write_outcome(outcome: Outcome) -> Plain:
    """Return an outcome as plain data."""
    return {
        "message": outcome.message,
        "success": outcome.success,
        "claims": [claim._asdict() for claim in outcome.claims],
        "state": outcome.state,
        "refused": outcome.refused,
    }


def read_outcome(section: Section) -> Outcome:
    """Return the outcome that plain data describe."""
    return Outcome(
        section.text("message"),
        section.optional_flag("success"),
        section.each("claims", _read_claim),
        section.raw("state"),
        section.flag("refused"),
    )


def _read_claim(section: Section) -> Claim:
    return Claim(section.text("kind"), section.mapping("identity"), section.text("evidence"))


def write_verdict(verdict: ContractVerdict) -> Plain:
    """Return a verdict as plain data."""
    violation = verdict.violation
    return {
        "contract": verdict.contract,
        "verdict": int(verdict.verdict),
        "margin": verdict.margin,
        "violation": None if violation is None else violation._asdict(),
        "unfair": verdict.unfair,
    }


def read_verdict(section: Section) -> ContractVerdict:
    """Return the verdict that plain data describe."""
    number = section.integer("verdict")
    if number not in list(Verdict):
        raise RecordError(f"A verdict is {number}; it must be 0, 1 or 2.")
    violation = section.optional_section("violation")
    return ContractVerdict(
        section.text("contract"),
        Verdict(number),
        section.number("margin"),
        None
        if violation is None
        else Violation(violation.integer("step"), violation.text("agent"), violation.text("reason")),
        section.flag("unfair"),
    )


def write_signature(signature: Signature) -> Plain:
    """Return a signature as plain data."""
    return {
        "contract": signature.contract,
        "severity": signature.severity.value,
        "operation": signature.operation,
        "interface": signature.interface,
        "risk": signature.risk,
        "operators": list(signature.operators),
    }


def read_signature(section: Section) -> Signature:
    """Return the signature that plain data describe."""
    return Signature(
        section.text("contract"),
        section.word("severity", Severity),
        section.text("operation"),
        section.text("interface"),
        section.text("risk"),
        section.texts("operators"),
    )


def write_nominal_run(undisturbed: NominalRun | None) -> Plain:
    """Return the run without injections as plain data."""
    if undisturbed is None:
        return None
    return {**undisturbed._asdict(), "ending": undisturbed.ending.value}


def read_nominal_run(section: Section | None) -> NominalRun | None:
    """Return the run without injections that plain data describe."""
    if section is None:
        return None
    calls, committing = (
        tuple(read_texts(call, "A call of the run without injections") for call in section.items(name))
        for name in ("calls", "committing")
    )
    return NominalRun(section.text("digest"), section.word("ending", Ending), calls, committing)


def read_declarations(record: Section) -> tuple[Declaration, ...] | None:
    """Return the declarations that plain data describe."""
    if record.is_none("declarations"):
        return None
    return tuple(Declaration(*read_texts(one, "A declaration")) for one in record.items("declarations"))


def read_texts(value: Plain, what: str) -> tuple[str, str]:
    """Return a pair of texts that plain data describe."""
    if not isinstance(value, list) or len(value) != 2 or not all(isinstance(part, str) for part in value):
        raise RecordError(f"{what} is {value!r:.80}; it must be two texts.")
    return str(value[0]), str(value[1])
