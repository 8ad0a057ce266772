"""What `model.repeated_turn` does to a crossing."""

from __future__ import annotations

from chaosagent.faults.crossing import Exchange, Request, Response
from chaosagent.operators.model.repeated_turn import RepeatedTurn
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary, Failure

ASKED = Request("complete", {"prompt": "What now?"})


def _after(*earlier: Response) -> Response:
    history = tuple(Exchange(ASKED, response) for response in earlier)
    return play(RepeatedTurn(), FakeCrossing(Sample(Boundary.MODEL, ASKED, Response("third"), history)))


def test_the_last_answer_comes_again() -> None:
    assert _after(Response("first"), Response("second")) == Response("second")


def test_failures_are_not_repeated() -> None:
    assert _after(Response("first"), Response(failure=Failure("timeout", ""))) == Response("first")


def test_the_first_time_nothing_happens() -> None:
    assert _after() == Response("third")
    assert _after(Response(failure=Failure("timeout", ""))) == Response("third")
