"""What `memory.stale_read` does to a crossing."""

from __future__ import annotations

import pytest

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Exchange, Request, Response
from chaosagent.operators.memory.stale_read import StaleRead
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary, Failure


def _crossing(request: Request, answer: Plain, *history: Exchange) -> FakeCrossing:
    return FakeCrossing(Sample(Boundary.MEMORY, request, Response(answer), history))


def _wrote(operation: str, value: Plain, key: str = "note", acknowledged: Plain = None) -> Exchange:
    return Exchange(Request(operation, {"key": key, "value": value}), Response(acknowledged))


READ = Request("read", {"key": "note"})


@pytest.mark.parametrize(
    ("history", "older"),
    [
        ([_wrote("write", "old"), _wrote("write", "new")], "old"),
        ([_wrote("write", "new")], None),
        ([Exchange(READ, Response("preset")), _wrote("write", "new")], "preset"),
        ([_wrote("write", ["a"]), _wrote("append", "b")], ["a"]),
        ([_wrote("append", "a"), _wrote("append", "b")], ["a"]),
        ([_wrote("write", "old"), _wrote("write", "new"), _wrote("write", "x", key="other")], "old"),
    ],
)
def test_stale_read_answers_what_stood_there_before_the_last_write(history: list[Exchange], older: Plain) -> None:
    assert play(StaleRead(), _crossing(READ, "now", *history)) == Response(older)


@pytest.mark.parametrize(
    "history",
    [
        [],
        [Exchange(READ, Response("now"))],
        [_wrote("write", "x", key="other")],
        [Exchange(Request("write", {"key": "note", "value": 1}), Response(failure=Failure("timeout", "")))],
    ],
)
def test_stale_read_without_a_write_changes_nothing(history: list[Exchange]) -> None:
    assert play(StaleRead(), _crossing(READ, "now", *history)) == Response("now")


def test_stale_read_acts_on_reads_only() -> None:
    request = Request("write", {"key": "note", "value": 2})

    assert play(StaleRead(), _crossing(request, "ok", _wrote("write", 1))) == Response("ok")
