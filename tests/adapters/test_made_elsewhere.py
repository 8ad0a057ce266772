"""Somebody else's agent, made and run by a module that stays as it is, can be put behind doors.

`their` is that module. It has its agent in a variable and runs it itself; ours may only put something else into its
variables for the time of a run. The table in docs/doors.md says the same for readers.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import ModuleType
from typing import Any
from unittest.mock import patch

import pytest

from chaosagent.execution.execute import Experiment, execute
from chaosagent.faults.schedule import EMPTY
from chaosagent.targets.target import Run, target
from chaosagent.testing.desk import CALLS, WISH, Desk
from chaosagent.vocabulary import Outcome, SystemConfig, Task

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # LlamaIndex uses an old name of pydantic's
]
Behind = Callable[[Run, ModuleType], Any]

THEIRS = {
    "openai_agents": "async def main(): return (await Runner.run(agent, WISH, max_turns=9)).final_output",
    "pydantic_ai": "async def main(): return (await agent.run(WISH)).output",
    "llama_index": "async def main(): return str(await agent.run(WISH))",
    "autogen": "async def main(): return (await agent.run(task=WISH)).messages[-1].to_text()",
    "smolagents": "async def main(): return str(await asyncio.to_thread(agent.run, WISH))",
    "langgraph": """
def make(): return create_agent(*parts, name="clerk")
agent = make()
async def main(): return (await agent.ainvoke({"messages": [("user", WISH)]}))["messages"][-1].text
""",
}


@contextmanager
def openai_agents(run: Run, their: Any, doors_of: Any) -> Iterator[None]:
    """Their runner takes a configuration that they do not give, so it is replaced, too."""
    doors = doors_of(run, their.agent)
    runner = type("Runner", (), {"run": staticmethod(partial(their.Runner.run, run_config=doors.run_config))})
    with patch.multiple(their, agent=doors.agent, Runner=runner):
        yield


@contextmanager
def pydantic_ai(run: Run, their: Any, doors_of: Any) -> Iterator[None]:
    """Nothing of theirs is replaced."""
    with doors_of(run, [their.agent]):
        yield


@contextmanager
def replaced(run: Run, their: Any, doors_of: Any) -> Iterator[None]:
    """Their agent is replaced by its copy with doors."""
    made = doors_of(run, their.agent)
    for name in ("runner", "agent"):  # as AutoGen's and smolagents' doors call the copy
        made = getattr(made, name, made) if type(made).__name__ == "AgentDoors" else made
    with patch.object(their, "agent", made):
        yield


@contextmanager
def langgraph(run: Run, their: Any, doors_of: Any) -> Iterator[None]:
    """A graph that is compiled takes no doors any more: theirs is made again, by a `create_agent` that has them."""
    with patch.object(their, "create_agent", doors_of(run).create_agent), patch.object(their, "agent", their.make()):
        their.agent = their.make()
        yield


@pytest.mark.parametrize(
    ("framework", "case", "package", "put"),
    [
        ("openai_agents", "TestOpenAiAgents", "agents", openai_agents),
        ("pydantic_ai", "TestPydanticAi", "pydantic_ai", pydantic_ai),
        ("llama_index", "TestLlamaIndex", "llama_index", replaced),
        ("autogen", "TestAutoGen", "autogen_agentchat", replaced),
        ("smolagents", "TestSmolagents", "smolagents", replaced),
        ("langgraph", "TestLangGraph", "langchain", langgraph),
    ],
)
def test_an_agent_that_somebody_else_runs_crosses_doors(framework: str, case: str, package: str, put: Any) -> None:
    pytest.importorskip(package)
    conformance: Any = importlib.import_module(f"tests.adapters.conformance.test_{framework}")
    doors_of = importlib.import_module(f"chaosagent.adapters.{framework}").through_doors
    desk, their = Desk(), ModuleType("their")
    built = getattr(conformance, case)().build(desk)
    names = {name: vars(conformance)[name] for name in ("Runner", "create_agent") if hasattr(conformance, name)}
    vars(their).update(names, agent=built, parts=built, WISH=WISH, asyncio=asyncio)
    exec(THEIRS[framework], vars(their))
    own = their.agent

    @target(name="theirs", tasks=[Task("t")])
    async def theirs(_task: Task, run: Run) -> Outcome:
        with put(run, their, doors_of):
            return Outcome(str(await their.main()), success=True)

    trace = execute(Experiment(theirs, theirs.task("t"), SystemConfig("default"), 0), EMPTY).trace

    called = [step.interface for step in trace.steps if step.interface.startswith("service:")]
    assert called == [f"service:{name}" for name, _ in CALLS], trace.ending_detail
    assert sum(step.interface.startswith("model:") for step in trace.steps) == 3
    assert trace.outcome.message.startswith("done: ")
    assert their.agent is own


RUN_BY_THEM = {
    "crewai": "async def main(): return (await made.kickoff_async()).raw",
    "mcp": """
async def main():
    async with mcp.Client(made) as client:
        return await pay(client)
""",
}


@pytest.mark.parametrize(
    ("framework", "make", "words", "reached"),
    [
        pytest.param("crewai", "_crew", (), "service:refund", marks=pytest.mark.crewai),
        pytest.param("mcp", "shop", ("shop",), "service:shop.refund", marks=pytest.mark.mcp),
    ],
)
def test_a_crew_or_a_server_in_somebody_elses_variable_is_put_behind_doors(
    framework: str, make: str, words: tuple[str, ...], reached: str
) -> None:
    pytest.importorskip(framework)
    parts: Any = importlib.import_module(f"tests.adapters.test_{framework}")
    doors_of = importlib.import_module(f"chaosagent.adapters.{framework}").through_doors
    their: Any = ModuleType("their")
    vars(their).update(vars(parts), made=getattr(parts, make)())
    exec(RUN_BY_THEM[framework], vars(their))
    own = their.made

    @target(name="theirs", tasks=[Task("t")])
    async def theirs(_task: Task, run: Run) -> Outcome:
        with patch.object(their, "made", doors_of(run, own, *words)):
            return Outcome(str(await their.main()), success=True)

    trace = execute(Experiment(theirs, theirs.task("t"), SystemConfig("default"), 0), EMPTY).trace

    assert reached in [step.interface for step in trace.steps], trace.ending_detail
    assert "refunded 40" in trace.outcome.message or "paid" in trace.outcome.message
    assert their.made is own
