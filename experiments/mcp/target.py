"""The clerk as a target: what is asked of it, what its tools commit, and what it promises."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from mcp import StdioServerParameters

from chaosagent.canonical import Plain
from chaosagent.effects.rule import effect
from chaosagent.experiments.mcp.books import make_server
from chaosagent.experiments.mcp.with_doors import serve
from chaosagent.targets.target import Run, target
from chaosagent.vocabulary import Claim, Effect, Impact, Outcome, SystemConfig, Task


def paid(arguments: Mapping[str, Plain], answer: Plain) -> Effect | None:
    """Return what a payment committed: nothing when the bank recognised the key."""
    repeated = isinstance(answer, Mapping) and answer["repeated"]
    return None if repeated else Effect("payment", {"invoice": arguments["invoice"]})


EFFECTS = {
    "pay": paid,
    "notify": effect("invoice", kind="mail"),
    "open_ticket": effect("invoice", impact=Impact.COMPENSATING),
}
READS = ("get_invoice", "find_payments")
TASKS = [Task("due", input="Please pay invoice I-17."), Task("too-much", input="Please pay invoice I-18.")]
CONFIGS = [SystemConfig("naive"), SystemConfig("fixed", {"careful": True})]


@target(name="mcp-clerk", tasks=TASKS, configs=CONFIGS)
async def clerk(task: Task, run: Run) -> Outcome:
    """A clerk who pays invoices through an MCP server in this process."""
    return await _served(task, run, make_server)


@target(name="mcp-clerk-stdio", tasks=TASKS, configs=CONFIGS, clock="wall")
async def stdio_clerk(task: Task, run: Run) -> Outcome:
    """The same clerk with the server as a process of its own, in real time."""
    return await _served(
        task, run, StdioServerParameters(command=sys.executable, args=["-m", "chaosagent.experiments.mcp.books"])
    )


async def _served(task: Task, run: Run, server: Any) -> Outcome:
    careful, invoice = bool(run.config.settings.get("careful")), str(task.input)[-5:-1]
    said = await serve(str(task.input), run, careful=careful, server=server, effects=EFFECTS, read_only=READS)
    claims = (Claim("payment", {"invoice": invoice}),) if "is paid" in said else ()
    return Outcome(said, success=bool(claims) or "approval" in said, claims=claims)
