"""What `model.slow` does to a crossing."""

from __future__ import annotations

import pytest

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Request, Response
from chaosagent.operators.model.slow import Slow
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary, Failure


def _answered(value: Plain) -> FakeCrossing:
    return FakeCrossing(Sample(Boundary.MODEL, Request("complete", {}), Response(value)))


def test_a_delayed_answer_arrives_late() -> None:
    crossing = _answered("Yes.")

    assert play(Slow(kind="delayed", seconds=90.0), crossing) == Response("Yes.")
    assert crossing.waits == [(90.0, 1)]


def test_a_stalled_answer_never_arrives_though_the_model_was_asked() -> None:
    crossing = _answered("Yes.")

    response = play(Slow(kind="stalled", seconds=90.0), crossing)

    assert response == Response(failure=Failure("timeout", "the model did not answer within 90 s"))
    assert crossing.waits == [(90.0, 1)]
    assert len(crossing.calls) == 1


def test_the_longer_the_stronger_and_never_is_the_strongest() -> None:
    magnitudes = [
        Slow(seconds=1.0).magnitude,
        Slow(seconds=60.0).magnitude,
        Slow(kind="stalled", seconds=1.0).magnitude,
    ]

    assert magnitudes == sorted(set(magnitudes))
    assert Slow(seconds=60.0).magnitude == pytest.approx(0.5)
