"""A plug-in operator that acts without its crossing does not land; a study notices, and proves nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import OPERATORS, Domain, bound
from chaosagent.vocabulary import Boundary
from tests.cli.conftest import Command

AGENT = """
import asyncio
from chaosagent import Outcome, Task, effect, target


@target(tasks=[Task("t")])
async def agent(task, run):
    async def get():
        await asyncio.sleep(2.0)
        return "paid"

    payments = run.service("payments", {"pay": lambda order: order}, effects={"pay": effect("order")})
    status = run.service("status", {"get": get}, read_only=True)
    try:
        await status("get")
    except asyncio.CancelledError:
        %s
    await payments("pay", order="A-1")
    return Outcome("paid", success=True)
"""
STUDY = """target: agent.py:agent
contracts: [at-most-once]
budget: 1.5
operators: [{operator: aside/timer, interfaces: ["service:status"]}]
"""


@dataclass(frozen=True, slots=True)
class Timer:
    """Lets a timer of its own cancel the agent's call."""

    name: ClassVar[str] = "aside/timer"
    boundaries: ClassVar[frozenset[Boundary]] = frozenset({Boundary.SERVICE})
    parameters: ClassVar[Mapping[str, Domain]] = {}
    magnitude: ClassVar[float] = 0.5
    tokens: ClassVar[int] = 0

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        task: Any = asyncio.current_task()
        asyncio.get_running_loop().call_later(1.0, task.cancel)
        return await proceed(crossing.request)

    def describe(self) -> str:
        return "a timer"


@pytest.mark.parametrize("then", ['await payments("pay", order="A-1")', "pass"])
def test_nothing_is_proved_where_an_operator_acts_aside(
    chaosagent: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    then: str,
) -> None:
    monkeypatch.setitem(OPERATORS._load(), Timer.name, Timer)
    bound.cache_clear()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agent.py").write_text(AGENT % then, encoding="utf-8")
    (tmp_path / "study.yaml").write_text(STUDY, encoding="utf-8")

    answer = chaosagent("search", "study.yaml", "--json")
    bound.cache_clear()

    (search,) = answer.json["searches"]
    assert not search["safe"]
    assert not search["certified"]
    assert answer.code != 0
    assert "nothing landed, and yet the run is another" in answer.json["unlike"][0]
    assert "aside/timer" in answer.json["unlike"][0]
