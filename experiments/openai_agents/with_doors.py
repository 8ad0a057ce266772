"""The desk of `without_doors.py` with doors."""

from __future__ import annotations

from collections.abc import Sequence

from agents import Runner, SQLiteSession

from chaosagent.adapters.openai_agents import through_doors
from chaosagent.experiments.openai_agents.desk import front_desk, run_config
from chaosagent.experiments.openai_agents.effects import EFFECTS, READS
from chaosagent.experiments.openai_agents.shop import Shop
from chaosagent.targets.target import Run


async def serve(texts: Sequence[str], run: Run, *, fixed: bool) -> str:
    """Talk to a customer and return what was said last."""
    shop = Shop({"A-17": 40}, keyed=fixed)
    desk, session, config = front_desk(fixed=fixed), SQLiteSession("customer"), run_config(fixed=fixed)
    doors = through_doors(run, desk, effects=EFFECTS, read_only=READS, run_config=config)
    desk, config, session = doors.agent, doors.run_config, doors.session(session)
    said = ""
    for text in texts:
        result = await Runner.run(desk, text, context=shop, session=session, run_config=config)
        said = str(result.final_output)
    return said
