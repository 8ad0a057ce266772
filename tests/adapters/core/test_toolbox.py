"""Lists of tools cross once, and come back as the framework's tools."""

from __future__ import annotations

from typing import Any

from chaosagent.adapters.core.crossings import Crossings
from chaosagent.adapters.core.toolbox import as_listed
from chaosagent.adapters.doors import Tools
from chaosagent.execution.execute import Experiment, execute
from chaosagent.faults.schedule import EMPTY
from chaosagent.targets.target import Run, target
from chaosagent.vocabulary import Outcome, SystemConfig

GET, PAY = {"name": "get", "description": "Get."}, {"name": "pay", "description": "Pay."}


def _same(tool: Any) -> Any:
    return tool


def _altered(tool: Any, told: Any) -> Any:
    return {**tool, **told, "altered": True}


def test_each_list_is_asked_for_once_in_front_and_once_behind_a_door() -> None:
    @target
    async def desk(_: object, run: Run) -> Outcome:
        crossings = Crossings(run, Tools())

        async def ask(_: object) -> int:
            for listed in ([GET, PAY], [GET, PAY], [PAY]):
                await crossings.toolbox.listed("clerk", listed)
            return 1

        with crossings.acting("clerk"):
            await ask(None)
        await crossings.tool("clerk", "other", {}, ask)
        return Outcome(str(crossings.toolbox.known("clerk", ["pay"])))

    trace = execute(Experiment(desk, desk.task("default"), SystemConfig(), 1), EMPTY).trace

    assert [step.interface for step in trace.steps if step.interface == "tools:clerk"] == ["tools:clerk"] * 4
    assert trace.outcome.message == "[{'description': 'Pay.', 'name': 'pay'}]"


def test_an_unaltered_tool_is_the_same_object_and_an_altered_one_a_copy() -> None:
    first, second = as_listed([PAY, {**GET, "description": "Old."}, 7], [GET, PAY], _same, _altered)

    assert first is PAY
    assert second == {"name": "get", "description": "Old.", "altered": True}


def test_a_description_without_a_tool_is_left_out_or_invented() -> None:
    told = [{"name": "new", "description": ""}]

    assert as_listed(told, [GET], _same, _altered) == as_listed(None, [GET], _same, _altered) == []
    assert as_listed(told, [GET], _same, _altered, dict) == told
