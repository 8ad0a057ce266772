"""What doors cost agents of a framework: the framework alone, with doors in earnest, and with doors in a traced run.

Run: python -m chaosagent.experiments.benchmarks.frameworks [NAME ...]

Nothing is injected. Each piece is one conversation of the framework's example with its scripted model, so that hardly
anything but the framework and the doors costs time.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable, Mapping, Sequence

from chaosagent.errors import MissingExtraError, UnknownNameError
from chaosagent.execution.execute import Experiment, execute
from chaosagent.execution.untraced import UntracedRun
from chaosagent.experiments.benchmarks.measuring import machine, medians, table
from chaosagent.extras import require
from chaosagent.faults.schedule import EMPTY
from chaosagent.targets.target import Target
from chaosagent.vocabulary import SystemConfig, Task

ALONE, UNTRACED, TRACED = "framework alone", "with doors, in earnest", "with doors, traced"

Pieces = Mapping[str, Callable[[], int]]


def autogen() -> Pieces:
    """Return the support desk of AutoGen."""
    require("autogen_agentchat", extra="autogen", needed_by="this benchmark")
    from chaosagent.experiments.autogen.target import converse, support_desk

    return {ALONE: _alone(lambda: asyncio.run(converse(careful=False))), **with_doors(support_desk)}


def langgraph() -> Pieces:
    """Return the desk of two LangChain agents."""
    require("langgraph", extra="langgraph", needed_by="this benchmark")
    from chaosagent.experiments.langgraph.desk import serve
    from chaosagent.experiments.langgraph.shop import Shop
    from chaosagent.experiments.langgraph.target import ONCE, desk

    return {ALONE: _alone(lambda: asyncio.run(serve(ONCE, Shop(), careful=False))), **with_doors(desk)}


def openai_agents() -> Pieces:
    """Return the support desk of the OpenAI Agents SDK, without its own tracing."""
    agents = require("agents", extra="openai-agents", needed_by="this benchmark")
    from chaosagent.experiments.openai_agents.target import desk
    from chaosagent.experiments.openai_agents.without_doors import serve

    agents.set_tracing_disabled(True)
    texts = ["Hello, my parcel A-17 never came.", "Yes, please."]
    return {ALONE: _alone(lambda: asyncio.run(serve(texts, fixed=False))), **with_doors(desk)}


def pydantic_ai() -> Pieces:
    """Return the support desk of pydantic-ai; alone, its doors are there and do nothing."""
    require("pydantic_ai", extra="pydantic-ai", needed_by="this benchmark")
    from chaosagent.experiments.pydantic_ai.target import converse, support_desk

    return {ALONE: _alone(lambda: asyncio.run(converse(careful=False))), **with_doors(support_desk)}


def crewai() -> Pieces:
    """Return the support crew of CrewAI, which is made anew each time."""
    require("crewai", extra="crewai", needed_by="this benchmark")
    from chaosagent.experiments.crewai.target import converse, support_crew

    return {ALONE: _alone(lambda: asyncio.run(converse(careful=False))), **with_doors(support_crew)}


def mcp() -> Pieces:
    """Return the clerk who uses an MCP server in this process."""
    require("mcp", extra="mcp", needed_by="this benchmark")
    from chaosagent.experiments.mcp.target import clerk
    from chaosagent.experiments.mcp.without_doors import serve

    wish = "Please pay invoice I-17."
    return {ALONE: _alone(lambda: asyncio.run(serve(wish, careful=False))), **with_doors(clerk)}


def smolagents() -> Pieces:
    """Return the support desk of smolagents."""
    require("smolagents", extra="smolagents", needed_by="this benchmark")
    from chaosagent.experiments.smolagents.target import converse, support_desk

    return {ALONE: _alone(lambda: converse(careful=False)), **with_doors(support_desk)}


FRAMEWORKS: Mapping[str, Callable[[], Pieces]] = {
    "autogen": autogen,
    "crewai": crewai,
    "langgraph": langgraph,
    "mcp": mcp,
    "openai_agents": openai_agents,
    "pydantic_ai": pydantic_ai,
    "smolagents": smolagents,
}
"""What each framework's pieces are, by its name; a piece returns how many conversations it was."""


def with_doors(target: Target) -> Pieces:
    """Return the first task of a target in earnest and traced, in its first configuration."""
    task, config = next(iter(target.tasks.values())), next(iter(target.configs.values()))
    experiment = Experiment(target, task, config, seed=1)
    return {
        UNTRACED: _alone(lambda: _in_earnest(target, task, config)),
        TRACED: _alone(lambda: execute(experiment, EMPTY)),
    }


def _in_earnest(target: Target, task: Task, config: SystemConfig) -> None:
    result = target.run(task, UntracedRun(task, config))
    if not target.synchronous:
        asyncio.run(result)


def _alone(work: Callable[[], object]) -> Callable[[], int]:
    def once() -> int:
        work()
        return 1

    return once


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table for each framework that is installed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(FRAMEWORKS)}; all by default")
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args(arguments)
    print(machine())
    for name in options.names or FRAMEWORKS:
        if name not in FRAMEWORKS:
            raise UnknownNameError("framework", name, FRAMEWORKS)
        try:
            pieces = FRAMEWORKS[name]()
        except MissingExtraError as error:
            print(f"\n{name}: {error}")
            continue
        print(f"\n{name}")
        print(table(medians(pieces, rounds=options.rounds), unit="ms", scale=1000, baseline=ALONE))


if __name__ == "__main__":
    main()
