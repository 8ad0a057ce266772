"""The clerk in earnest, without chaosagent."""

from __future__ import annotations

from mcp import Client

from chaosagent.experiments.mcp.books import make_server
from chaosagent.experiments.mcp.clerk import work
from chaosagent.experiments.mcp.model import SORRY, complete


async def serve(wish: str, *, careful: bool) -> str:
    """Do what is wished and return what is said in the end."""
    try:
        async with Client(make_server()) as client:
            return await work(wish, client, complete, careful=careful)
    except Exception:
        if not careful:
            raise
        return SORRY
