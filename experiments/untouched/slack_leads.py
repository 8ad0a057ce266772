"""The Slack lead qualifier of pydantic-ai's examples: two days of its two jobs, with a scripted model."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from unittest.mock import patch

os.environ.setdefault("SLACK_API_KEY", "none")  # the example and its model ask for keys when they are imported
os.environ.setdefault("OPENAI_API_KEY", "none")

import logfire
from pydantic_ai import Tool
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai_examples.slack_lead_qualifier import agent, functions, models

from chaosagent import Effect, Outcome, Run, StatusError, Task, target
from chaosagent.adapters.pydantic_ai import through_doors

logfire.configure(send_to_logfire=False, console=False)


def qualify(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:  # noqa: ARG001
    """Search for the person once, and then say what was found."""
    if len(messages) == 1:
        return ModelResponse([ToolCallPart("duckduckgo_search", {"query": "Ada"}, "search")])
    found = re.search(r"<email>(\S+?)</email>", str(messages[0]))
    profile = {"display_name": "Ada", "email": found[1] if found else ""}
    analysis = {"organization_name": "Lab", "organization_domain": "lab.example", "job_title": "engineer"}
    result = {**analysis, "profile": profile, "relevance": 4, "summary": "Welcome."}
    return ModelResponse([TextPart(json.dumps({"result": {"kind": "Analysis", "data": result}}))])


def posted(asked: Mapping[str, Any], answer: object) -> list[Effect]:  # noqa: ARG001
    """Return which leads a message to Slack announces."""
    return [Effect("lead", {"channel": asked["channel"], "email": email}) for email in
            re.findall(r"mailto:([^)]+)", str(asked["blocks"]))]  # fmt: skip


@target(name="slack-leads", tasks=[Task("two-days", [["ada@lab.example"], ["bob@lab.example"]])])
async def leads(task: Task, run: Run) -> Outcome:
    """Each day somebody joins and a summary is sent. A job that raises has failed; the next one starts all the same."""
    kept: dict[str, Any] = {}
    world = {
        "put": lambda email, lead: kept.update({email: lead}),
        "values": lambda: [*kept.values()],
        "clear": kept.clear,
    }
    store = run.service("store", world, read_only=["values"])
    slack = run.service("slack", {"post": lambda channel, blocks: {"ok": True}}, effects={"post": posted})  # noqa: ARG005

    class Store:
        async def add(self, lead: Any) -> None:
            await store("put", email=lead.profile.email, lead=lead.model_dump())

        async def list(self) -> list[Any]:
            return [models.Analysis.model_validate(lead) for lead in await store("values")]

        async def clear(self) -> None:
            await store("clear")

    async def send(channel: str, blocks: list[Any]) -> None:
        await slack("post", channel=channel, blocks=blocks)

    async def search(query: str) -> str:
        return f"{query} is an engineer at Lab."

    tools = [Tool(search, name="duckduckgo_search")]
    with (
        agent.agent.override(model=FunctionModel(qualify), tools=tools),
        through_doors(run, [agent.agent], read_only=["duckduckgo_search"]),
        patch.multiple(functions, AnalysisStore=Store, send_slack_message=send),
    ):
        for day in task.input:  # type: ignore[union-attr]
            for email in day:  # type: ignore[union-attr]
                with suppress(OSError, StatusError, ValueError):
                    await functions.process_slack_member(models.Profile(email=str(email)))
            with suppress(OSError, StatusError, ValueError):
                await functions.send_daily_summary()
    return Outcome("", success=not kept)
