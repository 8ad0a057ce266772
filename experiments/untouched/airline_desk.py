"""The customer service example of the OpenAI Agents SDK, with a scripted model and a customer who types two lines."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from functools import partial
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from agents import Model, ModelProvider, ModelResponse, RunConfig, Runner, Usage
from examples.customer_service import main as app
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from chaosagent import Claim, Outcome, Run, Task, deterministic, effect, target
from chaosagent.adapters.openai_agents import through_doors

WISH = ["I would like another seat.", "My confirmation number is QX7L2P, and I would like seat 12A."]
SEAT = {"confirmation_number": "QX7L2P", "new_seat": "12A"}


class Scripted(Model, ModelProvider):
    """Hands over, asks for what it needs, and calls a tool again, once, when its answer says that it should."""

    def get_model(self, model_name: str | None) -> Model:  # noqa: ARG002
        return self

    async def get_response(self, *_: Any, input: Any, handoffs: Any, **__: Any) -> ModelResponse:  # noqa: A002
        """Answer to a conversation."""
        asked = "".join(str(item["content"]) for item in input if item.get("role") == "user")
        answers = [str(item["output"]) for item in input if item.get("type") == "function_call_output"]
        offered = [handoff.tool_name for handoff in handoffs]
        updates = [answer for answer in answers if "seat" in answer or "error" in answer]
        if "transfer_to_seat_booking_agent" in offered:
            return said(len(input), ("transfer_to_seat_booking_agent", {}))
        if not re.search("[A-Z0-9]{6}", asked):
            return said(len(input), "What is your confirmation number, and which seat would you like?")
        if any("Updated seat" in answer for answer in updates):
            return said(len(input), "Your seat is now 12A.")
        if len(updates) < 2:
            return said(len(input), ("update_seat", SEAT))
        return said(len(input), "I could not change your seat; a colleague will.")

    def stream_response(self, *_: Any, **__: Any) -> Any:
        """Not asked for here."""
        raise NotImplementedError("the example does not stream")


def said(number: int, what: str | tuple[str, dict[str, str]]) -> ModelResponse:
    """Return a text, or a call of a tool, as an answer of the API."""
    if isinstance(what, str):
        text = ResponseOutputText(type="output_text", text=what, annotations=[])
        output: Any = ResponseOutputMessage(
            id=f"msg_{number}", type="message", role="assistant", status="completed", content=[text]
        )
    else:
        output = ResponseFunctionToolCall(
            type="function_call", call_id=f"call_{number}", name=what[0], arguments=json.dumps(what[1])
        )
    return ModelResponse(output=[output], usage=Usage(requests=1), response_id=None)


@target(name="airline-desk", tasks=[Task("seat", [*WISH])])
async def desk(task: Task, run: Run) -> Outcome:  # noqa: ARG001  # there is one task
    """A customer types two lines and leaves."""
    lines, printed = iter(WISH), list[str]()
    doors = through_doors(
        run,
        app.triage_agent,
        run_config=RunConfig(model_provider=Scripted()),
        effects={"update_seat": effect(*SEAT, idempotent=True)},
        read_only=["faq_lookup_tool"],
    )

    def typed(*_: str) -> str:
        try:
            return str(next(lines))
        except StopIteration:
            raise EOFError from None  # as `input` does when the customer leaves

    with (
        deterministic(run),
        patch.multiple(
            app,
            triage_agent=doors.agent,
            Runner=SimpleNamespace(run=partial(Runner.run, run_config=doors.run_config)),
            input_with_fallback=typed,
            print=printed.append,
            create=True,
        ),
        suppress(EOFError),
    ):
        await app.main()
    done = "12A." in printed[-1]
    return Outcome(printed[-1], success=done, claims=(Claim("update_seat.call", SEAT),) if done else ())
