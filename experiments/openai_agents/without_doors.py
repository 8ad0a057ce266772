"""The desk in earnest, without chaosagent."""

from __future__ import annotations

from collections.abc import Sequence

from agents import Runner, SQLiteSession

from chaosagent.experiments.openai_agents.desk import front_desk, run_config
from chaosagent.experiments.openai_agents.shop import Shop


async def serve(texts: Sequence[str], *, fixed: bool) -> str:
    """Talk to a customer and return what was said last."""
    shop = Shop({"A-17": 40}, keyed=fixed)
    desk, session, config = front_desk(fixed=fixed), SQLiteSession("customer"), run_config(fixed=fixed)
    said = ""
    for text in texts:
        result = await Runner.run(desk, text, context=shop, session=session, run_config=config)
        said = str(result.final_output)
    return said
