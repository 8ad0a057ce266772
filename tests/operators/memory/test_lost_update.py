"""What `memory.lost_update` does to a crossing."""

from __future__ import annotations

import pytest

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Exchange, Request, Response
from chaosagent.operators.memory.lost_update import LostUpdate
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary


def _crossing(request: Request, answer: Plain, *history: Exchange) -> FakeCrossing:
    return FakeCrossing(Sample(Boundary.MEMORY, request, Response(answer), history))


def _wrote(operation: str, value: Plain, key: str = "note", acknowledged: Plain = None) -> Exchange:
    return Exchange(Request(operation, {"key": key, "value": value}), Response(acknowledged))


READ = Request("read", {"key": "note"})


@pytest.mark.parametrize("operation", ["write", "append"])
def test_lost_update_never_reaches_the_memory(operation: str) -> None:
    crossing = _crossing(Request(operation, {"key": "note", "value": "new"}), "unused")

    response = play(LostUpdate(), crossing)

    assert response == Response(None)
    assert crossing.calls == []


def test_lost_update_acknowledges_as_the_last_write_was() -> None:
    history = (_wrote("write", 1, acknowledged={"ok": True}), _wrote("append", 2, acknowledged="appended"))

    response = play(LostUpdate(), _crossing(Request("write", {"key": "note", "value": 3}), None, *history))

    assert response == Response({"ok": True})


def test_lost_update_leaves_reads_alone() -> None:
    crossing = _crossing(READ, "now", _wrote("write", 1))

    assert play(LostUpdate(), crossing) == Response("now")
    assert crossing.calls == [READ]
