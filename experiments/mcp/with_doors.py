"""The clerk of `without_doors.py` with doors."""

from __future__ import annotations

from functools import partial
from typing import Any

from mcp import Client

from chaosagent.adapters.mcp import through_doors
from chaosagent.experiments.mcp.books import make_server
from chaosagent.experiments.mcp.clerk import work
from chaosagent.experiments.mcp.model import SORRY, complete
from chaosagent.targets.target import Run


async def serve(wish: str, run: Run, *, careful: bool, server: Any = make_server, **said: Any) -> str:
    """Do what is wished and return what is said in the end."""
    model = partial(run.model("clerk", {"complete": complete}), "complete")
    try:
        async with Client(through_doors(run, server, "books", **said)) as client:
            return await work(wish, client, model, careful=careful)
    except Exception:
        if not careful:
            raise
        return SORRY
