"""The first place at which two runs differ, as far as a searcher may know of them."""

from __future__ import annotations

from chaosagent.faults.dry import RecordedCrossing, unpack_request, unpack_response
from chaosagent.faults.evaluation import Evaluation
from chaosagent.trace.diff import Difference
from chaosagent.trace.redact import without_secrets

TEXT_MAX = 300
NO_CALL = "the outcome, a note or a verdict"
"""The field of a difference that no call shows."""

_CALL_FIELDS = ("place", "request", "answer", "asked at", "answered at")


def difference_in_calls(expected: Evaluation, got: Evaluation) -> Difference:
    """Return the first difference of two runs as far as their calls show it; its `step` counts calls, from 0.

    Crossings hold secrets, the difference does not.
    """
    for index, (one, other) in enumerate(zip(expected.crossings, got.crossings, strict=False)):
        for field, then, now in zip(_CALL_FIELDS, _facts(one), _facts(other), strict=True):
            if then != now:
                then, now = (without_secrets(text)[:TEXT_MAX] for text in (then, now))
                return Difference(index, field, then, now, str(one.place))
    count = min(len(expected.crossings), len(got.crossings))
    if len(expected.crossings) != len(got.crossings):
        then, now = (
            "the end" if len(run.crossings) == count else str(run.crossings[count].place) for run in (expected, got)
        )
        return Difference(count, "calls", then, now)
    return Difference(count, NO_CALL, expected.digest, got.digest)


def _facts(crossing: RecordedCrossing) -> tuple[str, ...]:
    operation, arguments = unpack_request(crossing.request)
    answer = str(unpack_response(crossing.response)) if crossing.response else "none"
    request = f"{operation}({arguments})"
    return str(crossing.place), request, answer, f"{crossing.asked_at:g} s", f"{crossing.answered_at:g} s"
