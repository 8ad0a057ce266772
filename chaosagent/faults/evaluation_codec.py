"""Evaluations as bytes, so that a study can resume after its process died."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any, TypeAlias, cast

from chaosagent.canonical import pack_plain, unpack
from chaosagent.errors import UsageError
from chaosagent.faults.dry import RecordedCrossing
from chaosagent.faults.evaluation import Act, Evaluation, Fingerprint, Status, Undeclared, Variable
from chaosagent.faults.injection import Injection, Place
from chaosagent.faults.schedule import Schedule, parse
from chaosagent.faults.schedule import schedule as make_schedule
from chaosagent.trace.summary import FailureMet, MediatorDecision, RunSummary, ViolationAt
from chaosagent.trace.trace import ContractVerdict, Violation
from chaosagent.vocabulary import Boundary, Ending, Verdict

NumberOf: TypeAlias = Callable[[Any, Callable[[Any], Any]], int]
Part: TypeAlias = Callable[[int, Callable[[Any], Any]], Any]

SCHEDULES_MAX = 20_000
"""How many schedules, and injections, are parsed only once."""


def encode_evaluation(evaluation: Evaluation) -> bytes:
    """Return the bytes of an evaluation."""
    return pack_plain(  # all of it is plain already; making sure would double the time
        [
            evaluation.schedule.text,
            evaluation.status._value_,
            evaluation.error,
            evaluation.effective.text,
            _positions(evaluation),
            evaluation.digest,
            evaluation.ending._value_,
            evaluation.success,
            evaluation.step_count,
            _plain_verdicts(evaluation),
            [_plain_crossing(crossing) for crossing in evaluation.crossings],
            evaluation.fingerprints,
            *_plain_rest(evaluation),
        ]
    )


def _plain_verdicts(evaluation: Evaluation) -> list[Any]:
    return [
        [verdict.contract, int(verdict.verdict), verdict.margin, verdict.violation, verdict.unfair]
        for verdict in evaluation.verdicts
    ]


def _plain_crossing(crossing: RecordedCrossing) -> tuple[Any, ...]:
    return (crossing[0], crossing[1]._value_, *crossing[2:])


def _plain_rest(evaluation: Evaluation) -> tuple[Any, ...]:
    return (
        evaluation.crashed_at,
        evaluation.asked,
        evaluation.support,
        evaluation.spent,
        evaluation.detail,
        evaluation.undeclared,
        evaluation.tied,
        evaluation.summary,
    )


_position = attrgetter("position")


def _positions(evaluation: Evaluation) -> list[int]:
    """Return when each injection that landed began to act, in the order of the schedule."""
    found = {act.injection: act.position for act in evaluation.acts}
    return [found.get(injection, -1) for injection in evaluation.effective]  # of a run that hung nobody knows


def decode_evaluation(data: bytes) -> Evaluation:
    """Return the evaluation that some bytes describe; the inverse of `encode_evaluation`."""
    parts = cast("list[Any]", unpack(data))
    schedule, status, error, landed, positions, digest, ending, success, step_count, *lists = parts
    verdicts, crossings, fingerprints, *rest = lists
    return Evaluation(
        status=Status(status),
        error=error,
        digest=digest,
        ending=Ending(ending),
        success=success,
        step_count=step_count,
        verdicts=_verdicts(verdicts),
        crossings=tuple([_crossing(one) for one in crossings]),
        fingerprints=tuple([_fingerprint(one) for one in fingerprints]),
        **_landed(schedule, landed, positions),
        **_rest(rest),
    )


def _landed(schedule: str, landed: str, positions: list[int]) -> dict[str, Any]:
    effective = stored_schedule(landed)
    acts = sorted((Act(*one) for one in zip(positions, effective, strict=True) if one[0] >= 0), key=_position)
    return {"schedule": stored_schedule(schedule), "effective": effective, "acts": tuple(acts)}


@lru_cache(maxsize=SCHEDULES_MAX)
def stored_schedule(text: str) -> Schedule:
    """Return the schedule of a text that was made of one: sooner than `parse`, and remembered."""
    try:
        return make_schedule(
            injection for one in text.replace("\n", "; ").split("; ") for injection in _injections(one)
        )
    except UsageError:  # such as one with a semicolon in a text
        return parse(text, "stored schedule")


@lru_cache(maxsize=SCHEDULES_MAX)
def _injections(text: str) -> tuple[Injection, ...]:
    return parse(text, "stored schedule").injections


def _verdicts(stored: list[Any]) -> tuple[ContractVerdict, ...]:
    return tuple(
        ContractVerdict(contract, Verdict(verdict), margin, None if at is None else Violation(*at), unfair)
        for contract, verdict, margin, at, unfair in stored
    )


def _crossing(stored: list[Any]) -> RecordedCrossing:
    place, boundary, *rest = stored
    return RecordedCrossing(Place(*place), Boundary(boundary), *rest)


def _fingerprint(stored: list[Any]) -> Fingerprint:
    position, common, monitors = stored
    return Fingerprint(position, common, tuple(monitors))


def _rest(stored: list[Any]) -> dict[str, Any]:
    crashed_at, asked, support, spent, detail, undeclared, tied, summary = stored
    return {
        "crashed_at": crashed_at,
        "asked": asked,
        "support": None if support is None else tuple(Place(*place) for place in support),
        "spent": spent,
        "detail": detail,
        "undeclared": tuple(
            Undeclared(number, place, tuple(Variable(*one) for one in variables))
            for number, place, variables in undeclared
        ),
        "tied": tied,
        "summary": None if summary is None else _summary(summary),
    }


def _summary(stored: list[Any]) -> RunSummary:
    path, effects, refused, virtual_seconds, failures, decisions, notes, violations, tokens = stored
    return RunSummary(
        tuple(path),
        tuple(effects),
        refused,
        virtual_seconds,
        tuple(FailureMet(*one) for one in failures),
        tuple(MediatorDecision(*one) for one in decisions),
        tuple(notes),
        tuple(ViolationAt(*one) for one in violations),
        tokens,
    )


def encode_shared(evaluation: Evaluation, number_of: NumberOf) -> bytes:
    """Return the bytes of what the columns of a run do not hold, with numbers in place of its parts.

    Args:
        evaluation: What the run told.
        number_of: Returns the number under which a part is kept. It is given the part as it is in memory, or its bytes,
            and a function that makes plain data of it.
    """
    parts = [
        number_of(pack_plain(_plain_verdicts(evaluation)), unpack),
        number_of(pack_plain(_plain_rest(evaluation)), unpack),
        *[number_of(crossing, _plain_crossing) for crossing in evaluation.crossings],
        *[number_of(fingerprint, tuple) for fingerprint in evaluation.fingerprints],
    ]
    by_seed = [part for seed, digest in evaluation.by_seed for part in (seed, bytes.fromhex(digest))]
    return pack_plain([_positions(evaluation), len(evaluation.crossings), parts, *by_seed])


def part_numbers(data: bytes) -> list[int]:
    """Return the numbers of the parts of a run; the inverse of a part of `encode_shared`."""
    return cast("list[int]", cast("list[Any]", unpack(data))[2])


def decode_shared(columns: Sequence[Any], data: bytes, part: Part) -> Evaluation:
    """Return the evaluation of a run in a store.

    Args:
        columns: Schedule, status, error, what landed (`None`: all of it), cost, digest, ending, success and steps.
        data: As `encode_shared` made it.
        part: Returns the part with a number, made by a function from its plain data.
    """
    schedule, status, error, landed, _, digest, ending, success, step_count = columns
    positions, crossing_count, (verdicts, rest, *others), *by_seed = cast("list[Any]", unpack(data))
    return Evaluation(
        status=Status(status),
        error=error,
        digest=digest,
        ending=Ending(ending),
        success=None if success is None else bool(success),
        step_count=step_count,
        verdicts=part(verdicts, _verdicts),
        crossings=tuple([part(one, _crossing) for one in others[:crossing_count]]),
        fingerprints=tuple([part(one, _fingerprint) for one in others[crossing_count:]]),
        by_seed=tuple([(seed, one.hex()) for seed, one in zip(by_seed[::2], by_seed[1::2], strict=True)]),
        **_landed(schedule, schedule if landed is None else landed, positions),
        **part(rest, _rest),
    )
