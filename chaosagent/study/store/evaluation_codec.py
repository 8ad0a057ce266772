"""Evaluations as bytes, so that a study can resume after its process died."""

from __future__ import annotations

from operator import attrgetter
from typing import Any, cast

from chaosagent.canonical import pack_plain, unpack
from chaosagent.faults.dry import RecordedCrossing
from chaosagent.faults.evaluation import Act, Evaluation, Fingerprint, Status, Undeclared, Variable
from chaosagent.faults.injection import Place
from chaosagent.faults.schedule import parse
from chaosagent.trace.trace import ContractVerdict, Violation
from chaosagent.vocabulary import Boundary, Ending, Verdict


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
            [
                [
                    verdict.contract,
                    int(verdict.verdict),
                    verdict.margin,
                    verdict.violation,
                    verdict.unfair,
                ]
                for verdict in evaluation.verdicts
            ],
            [(crossing[0], crossing[1]._value_, *crossing[2:]) for crossing in evaluation.crossings],
            evaluation.fingerprints,
            evaluation.crashed_at,
            evaluation.asked,
            evaluation.support,
            evaluation.spent,
            evaluation.detail,
            evaluation.undeclared,
            evaluation.tied,
        ]
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
    verdicts, crossings, fingerprints, crashed_at, asked, support, spent, detail, undeclared, tied = lists
    effective = parse(landed, "stored schedule")
    return Evaluation(
        schedule=parse(schedule, "stored schedule"),
        status=Status(status),
        error=error,
        effective=effective,
        acts=tuple(sorted((Act(*one) for one in zip(positions, effective, strict=True) if one[0] >= 0), key=_position)),
        digest=digest,
        ending=Ending(ending),
        success=success,
        step_count=step_count,
        verdicts=tuple(
            ContractVerdict(contract, Verdict(verdict), margin, None if at is None else Violation(*at), unfair)
            for contract, verdict, margin, at, unfair in verdicts
        ),
        crossings=tuple(
            RecordedCrossing(Place(*place), Boundary(boundary), *rest) for place, boundary, *rest in crossings
        ),
        fingerprints=tuple(
            Fingerprint(position, common, tuple(monitors)) for position, common, monitors in fingerprints
        ),
        crashed_at=crashed_at,
        asked=asked,
        support=None if support is None else tuple(Place(*place) for place in support),
        spent=spent,
        detail=detail,
        undeclared=tuple(
            Undeclared(number, place, tuple(Variable(*one) for one in variables))
            for number, place, variables in undeclared
        ),
        tied=tied,
    )
