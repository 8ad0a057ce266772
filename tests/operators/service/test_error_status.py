"""What `service.error_status` does to a crossing."""

from __future__ import annotations

import pytest

from chaosagent.canonical import Plain
from chaosagent.errors import UsageError
from chaosagent.faults.crossing import Request, Response
from chaosagent.faults.operator import bind
from chaosagent.operators.service.error_status import ErrorStatus
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary, Failure


def _answered(value: Plain) -> FakeCrossing:
    return FakeCrossing(Sample(Boundary.SERVICE, Request("get_order", {"order_id": "A-1"}), Response(value)))


@pytest.mark.parametrize(("when", "calls"), [("before", 0), ("after", 1)])
def test_error_status_says_on_which_side_of_the_commit_it_lies(when: str, calls: int) -> None:
    crossing = _answered("paid")

    response = play(ErrorStatus(status=503, when=when), crossing)

    assert response == Response(failure=Failure("status", "Service Unavailable", 503, None))
    assert len(crossing.calls) == calls


def test_error_status_asks_for_patience_when_told_to() -> None:
    response = play(ErrorStatus(status=429, retry_after=2.5), _answered("paid"))

    assert response.failure == Failure("status", "Too Many Requests", 429, 2.5)
    assert "retry after 2.5 s" in ErrorStatus(status=429, retry_after=2.5).describe()


def test_error_status_knows_codes_without_a_name() -> None:
    response = play(ErrorStatus(status=599), _answered("paid"))

    assert response.failure == Failure("status", "Error", 599)


@pytest.mark.parametrize("status", [200, 399, 600, 503.5])
def test_error_status_refuses_what_is_no_error(status: float) -> None:
    with pytest.raises(UsageError, match=r"service.error_status\(status="):
        bind("service.error_status", (("status", status),))
