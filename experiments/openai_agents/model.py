"""A scripted model for the desk: it reads the conversation and decides as a model would, and always the same."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from typing import Any

from agents import Model, ModelResponse, Usage
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

ATTEMPTS_MAX = 2
_ORDER = re.compile(r"\b[A-Z]-\d+\b")
_FAILED = ("try again", "may have been done", "not found")


class DeskModel(Model):  # type: ignore[misc]  # untyped where the extra is missing
    """Stands for the model of both agents; what it is told to be tells it which."""

    async def get_response(
        self,
        system_instructions: str | None,
        input: Any,  # noqa: A002  # the SDK's name
        model_settings: Any,
        *_: Any,
        **__: Any,
    ) -> ModelResponse:
        """Answer to a conversation."""
        talk = Conversation(input, together=model_settings.parallel_tool_calls is not False)
        talk.told = system_instructions or ""
        billing = "billing" in talk.told
        said: str | list[tuple[str, dict[str, Any]]] = at_billing(talk) if billing else at_front(talk)
        number = len(talk.items)
        if isinstance(said, str):
            text = ResponseOutputText(type="output_text", text=said, annotations=[])
            output: list[Any] = [
                ResponseOutputMessage(
                    id=f"msg_{number}", type="message", role="assistant", status="completed", content=[text]
                )
            ]
        else:
            output = [
                ResponseFunctionToolCall(
                    type="function_call", call_id=f"call_{number}_{i}", name=name, arguments=json.dumps(arguments)
                )
                for i, (name, arguments) in enumerate(said)
            ]
        return ModelResponse(output=output, usage=Usage(requests=1), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        """Not asked for here."""
        raise NotImplementedError("the desk does not stream")


class Conversation:
    """What a model reads in a conversation.

    Args:
        given: The input of the model.
        together: It may call several tools at once.

    Attributes:
        items: The conversation.
        told: What it is told to be.
        order: The order that it is about, empty if nobody has named one.
        user: What the customer said last.
    """

    def __init__(self, given: Any, *, together: bool) -> None:
        self.items: list[Any] = [{"role": "user", "content": given}] if isinstance(given, str) else list(given)
        self.together, self.told = together, ""
        asked = [index for index, item in enumerate(self.items) if item.get("role") == "user"]
        self.user = str(self.items[asked[-1]]["content"]) if asked else ""
        self._since = asked[-1] if asked else 0
        named = _ORDER.findall(str(self.items))
        self.order = str(named[-1]) if named else ""

    def answers(self, tool: str) -> list[str]:
        """Return what a tool has answered since the customer spoke last, oldest first."""
        ids = [item["call_id"] for item in self.items[self._since :] if item.get("name") == tool]
        told = {
            item["call_id"]: str(item["output"]) for item in self.items if item.get("type") == "function_call_output"
        }
        return [told[id_] for id_ in ids if id_ in told]

    def worked(self, tool: str) -> bool:
        """Whether the last answer of a tool is none of a failure."""
        answers = self.answers(tool)
        return bool(answers) and not failed(answers[-1])

    def may_try(self, tool: str) -> bool:
        """Whether a tool has not failed too often."""
        return len(self.answers(tool)) < ATTEMPTS_MAX


def failed(answer: str) -> bool:
    """Whether an answer tells of a failure."""
    return any(sign in answer for sign in _FAILED)


Said = str | list[tuple[str, dict[str, Any]]]


def at_front(talk: Conversation) -> Said:
    """Look an order up, and hand over to billing when the customer agrees."""
    if not talk.order:
        return "Which order is it?"
    if "yes" in talk.user.lower():
        again = len(talk.answers("transfer_to_billing")) < ATTEMPTS_MAX
        return [("transfer_to_billing", {})] if again else gives_up(talk)
    if talk.worked("get_order"):
        return f"Order {talk.order} was lost in transit. Shall I pay it back?"
    return [("get_order", {"order": talk.order})] if talk.may_try("get_order") else gives_up(talk)


def at_billing(talk: Conversation) -> Said:
    """Pay back and write to the customer."""
    if not talk.order:
        return "Which order is it?"
    amount = re.search(r"'amount': (\d+)", str(talk.items))
    if amount is None:
        return gives_up(talk)
    pay = ("refund", {"order": talk.order, "amount": int(amount[1])})
    mail = ("send_mail", {"order": talk.order})
    payments, looks = talk.answers("refund"), talk.answers("find_refunds")
    if not payments:
        return [pay, mail] if talk.together else [pay]
    if failed(payments[-1]) and not paid_after_all(looks):
        if "may have been done" in payments[-1] and len(looks) < len(payments):
            return [("find_refunds", {"order": talk.order})]
        return [pay] if talk.may_try("refund") else gives_up(talk)
    if not talk.worked("send_mail"):
        unsure = any("may have been done" in answer for answer in talk.answers("send_mail"))
        return [mail] if talk.may_try("send_mail") and not unsure else gives_up(talk)
    return f"The money for {talk.order} is on its way."


def paid_after_all(looks: list[str]) -> bool:
    """Whether the books say that the order was paid back."""
    return bool(looks) and re.search(r"'refunds': [1-9]", looks[-1]) is not None


def gives_up(talk: Conversation) -> Said:
    """Say so; if it was told to, open a ticket first, and say what was done."""
    if "open a ticket" in talk.told and not talk.worked("open_ticket") and talk.may_try("open_ticket"):
        return [("open_ticket", {"order": talk.order})]
    if "say what was done" in talk.told and (talk.worked("refund") or paid_after_all(talk.answers("find_refunds"))):
        return f"The money for {talk.order} is on its way; a colleague will look into the rest."
    return "I could not do that; a colleague will look into it."
