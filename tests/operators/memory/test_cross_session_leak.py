"""What `memory.cross_session_leak` does to a crossing."""

from __future__ import annotations

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Exchange, Request, Response
from chaosagent.operators.memory.cross_session_leak import CrossSessionLeak
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary, Failure


def _played(*history: Exchange, operation: str = "read", answer: Plain = "mine") -> Response:
    request = Request(operation, {"key": "ann"})
    return play(CrossSessionLeak(), FakeCrossing(Sample(Boundary.MEMORY, request, Response(answer), history)))


def _read(key: str, value: Plain) -> Exchange:
    return Exchange(Request("read", {"key": key}), Response(value))


def _wrote(key: str, value: Plain) -> Exchange:
    return Exchange(Request("write", {"key": key, "value": value}), Response(None))


def test_the_read_answers_what_somebody_else_last_read_or_wrote() -> None:
    assert _played(_wrote("bob", "his"), _read("eve", "hers"), _wrote("ann", "mine")) == Response("hers")
    assert _played(_read("eve", "hers"), _wrote("bob", "his")) == Response("his")


def test_what_is_not_there_or_the_same_is_no_leak() -> None:
    failed = Exchange(Request("read", {"key": "eve"}), Response(failure=Failure("timeout", "")))

    assert _played(_wrote("bob", "his"), failed, _read("dan", None), _read("eve", "mine")) == Response("his")
    assert _played(_wrote("ann", "older"), failed, _read("eve", "mine")) == Response("mine")


def test_other_operations_are_untouched() -> None:
    assert _played(_wrote("bob", "his"), operation="write", answer=None) == Response(None)
