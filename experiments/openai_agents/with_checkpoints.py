"""The desk of `with_doors.py` with checkpoints, so that a search need not go on from equal states (rule R3)."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from agents import Runner

from chaosagent.adapters.openai_agents import through_doors
from chaosagent.canonical import plain
from chaosagent.experiments.openai_agents.desk import front_desk, run_config
from chaosagent.experiments.openai_agents.effects import EFFECTS, READS
from chaosagent.experiments.openai_agents.shop import Shop
from chaosagent.targets.target import Run, target
from chaosagent.vocabulary import Claim, Outcome, SystemConfig, Task


class Transcript:
    """A session of the SDK that keeps a conversation in a list, where it can be looked at."""

    session_id = "customer"
    session_settings = None

    def __init__(self) -> None:
        self.items: list[Any] = []

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """Return the history, or the last items of it."""
        return list(self.items) if limit is None else self.items[max(len(self.items) - limit, 0) :]

    async def add_items(self, items: list[Any]) -> None:
        """Append to the history."""
        self.items += items

    async def pop_item(self) -> Any:
        """Remove the last item and return it."""
        return self.items.pop() if self.items else None

    async def clear_session(self) -> None:
        """Forget the history."""
        self.items.clear()


async def serve(texts: Sequence[str], run: Run, *, fixed: bool, checkpoints: bool) -> str:
    """Talk to a customer and return what was said last."""
    shop, transcript, said = Shop({"A-17": 40}, keyed=fixed), Transcript(), ""
    doors = through_doors(
        run, front_desk(fixed=fixed), effects=EFFECTS, read_only=READS, run_config=run_config(fixed=fixed)
    )
    if checkpoints:
        doors.doors.take_checkpoints(lambda: plain([dataclasses.asdict(shop), transcript.items]))
    session = doors.session(transcript)
    for text in texts:
        result = await Runner.run(doors.agent, text, context=shop, session=session, run_config=doors.run_config)
        said = str(result.final_output)
    return said


@target(
    name="openai-desk-with-checkpoints",
    tasks=[Task("late-parcel", input=["Hello, my parcel A-17 never came.", "Yes, please."])],
    configs=[
        SystemConfig("naive", {"checkpoints": True}),
        SystemConfig("fixed", {"checkpoints": True, "fixed": True}),
        SystemConfig("without", {}),
    ],
)
async def desk(task: Task, run: Run) -> Outcome:
    """The support desk, which says what the world is whenever a model is asked."""
    texts: Any = task.input
    settings = run.config.settings
    said = await serve(texts, run, fixed=bool(settings.get("fixed")), checkpoints=bool(settings.get("checkpoints")))
    done = "on its way" in said
    return Outcome(said, success=done, claims=(Claim("refund", {"order": "A-17"}),) if done else ())
