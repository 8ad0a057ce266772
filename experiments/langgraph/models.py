"""The models of desk and clerk, scripted: they react to what they read as a model would that means well.

They are LangChain chat models like any other, so that everything around them is the framework's own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.utils.function_calling import convert_to_openai_tool

_ORDER = re.compile(r"[A-Z]-\d+")
TRIES_MAX = 2


class Scripted(BaseChatModel):
    """A chat model that decides by rules; `decide` is the model."""

    careful: bool = False

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> Any:
        """Tell the model of its tools, in the form that most providers use."""
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **options)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002  # as LangChain calls it
        run_manager: Any = None,  # noqa: ARG002
        **options: Any,
    ) -> ChatResult:
        told = {tool["function"]["name"] for tool in options.get("tools", ())}
        last = max(place for place, message in enumerate(messages) if isinstance(message, HumanMessage))
        text, calls = self.decide(Conversation(messages[last:]))
        known = [(name, given) for name, given in calls if name in told]
        if calls and not known:
            text = "I cannot do that here; a colleague will look into it."
        asked = [
            {"name": name, "args": given, "id": f"{len(messages)}-{place}"} for place, (name, given) in enumerate(known)
        ]
        return ChatResult(generations=[ChatGeneration(message=AIMessage(text, tool_calls=asked))])

    def decide(self, conversation: Conversation) -> Decision:
        """Return what to say and which tools to call; no tools end the turn."""
        raise NotImplementedError


Decision = tuple[str, list[tuple[str, dict[str, Any]]]]


class Conversation:
    """What was said since the user spoke last."""

    def __init__(self, messages: Sequence[BaseMessage]) -> None:
        self.question = messages[0].text
        found = _ORDER.search(self.question)
        self.order_id = found[0] if found else ""
        self._answers = [message for message in messages if isinstance(message, ToolMessage)]

    def tried(self, tool: str) -> int:
        """Return how often a tool has answered."""
        return sum(message.name == tool for message in self._answers)

    def answer(self, tool: str) -> Any:
        """Return the last good answer of a tool, `None` when it has none."""
        good = [one.text for one in self._answers if one.name == tool and not _failed(one)]
        if not good:
            return None
        try:
            return json.loads(good[-1])
        except json.JSONDecodeError:
            return good[-1]

    def may_try(self, tool: str) -> bool:
        """Whether a tool has not answered well, and trying once more makes sense."""
        return self.answer(tool) is None and self.tried(tool) < TRIES_MAX


def _failed(message: ToolMessage) -> bool:
    return message.status == "error" or "Please try again" in message.text


class DeskModel(Scripted):
    """Looks an order up, remembers what was done, and hands refunds to the clerk."""

    def decide(self, conversation: Conversation) -> Decision:
        """Decide as the desk."""
        order_id = conversation.order_id
        if conversation.may_try("get_order") or conversation.may_try("recall"):
            wanted = [name for name in ("get_order", "recall") if conversation.may_try(name)]
            return "Let me look.", [(name, {"order_id": order_id}) for name in wanted]
        if conversation.answer("get_order") is None:
            return "I cannot see your order now; a colleague will look into it.", []
        if conversation.answer("recall") == "refunded":
            return f"Order {order_id} was refunded.", []
        if conversation.may_try("ask_clerk"):
            return "The clerk will see to it.", [("ask_clerk", {"request": f"Please refund order {order_id}."})]
        if self.careful and conversation.may_try("find_refund"):
            return "Let me see that it is done.", [("find_refund", {"order_id": order_id})]
        reply, found = str(conversation.answer("ask_clerk")), conversation.answer("find_refund")
        done = found["refunded"] if found else "refunded" in reply or reply.startswith("Successfully")
        if done and conversation.may_try("remember"):
            return "Noting it.", [("remember", {"order_id": order_id, "text": "refunded"})]
        if done:
            return f"Order {order_id} was refunded.", []
        return "The refund could not be made now; a colleague will look into it.", []


class ClerkModel(Scripted):
    """Refunds and tells the customer: both at once, or, when careful, one after the other and with a look first."""

    def decide(self, conversation: Conversation) -> Decision:
        """Decide as the clerk."""
        return self._carefully(conversation) if self.careful else self._at_once(conversation)

    def _at_once(self, conversation: Conversation) -> Decision:
        order_id = conversation.order_id
        wanted: list[tuple[str, dict[str, Any]]] = []
        if conversation.may_try("refund"):
            wanted.append(("refund", {"order_id": order_id}))
        if conversation.may_try("send_mail"):
            wanted.append(("send_mail", {"order_id": order_id, "text": "Your money is on its way."}))
        if wanted:
            return "Refund and mail.", wanted
        done = conversation.answer("refund") is not None
        return f"Order {order_id} was refunded." if done else f"Order {order_id} could not be paid back.", []

    def _carefully(self, conversation: Conversation) -> Decision:
        order_id = conversation.order_id
        if conversation.may_try("find_refund") and not conversation.tried("refund"):
            return "Let me look at the books.", [("find_refund", {"order_id": order_id})]
        found = conversation.answer("find_refund")
        if found is None:
            return f"Order {order_id} could not be paid back.", []
        if not found["refunded"] and conversation.may_try("refund"):
            return "Refund.", [("refund", {"order_id": order_id, "key": f"refund-{order_id}"})]
        if not found["refunded"] and conversation.answer("refund") is None and conversation.tried("find_refund") < 2:
            return "Was it made all the same?", [("find_refund", {"order_id": order_id})]
        if not found["refunded"] and conversation.answer("refund") is None:
            return f"Order {order_id} could not be paid back.", []
        if not found["refunded"] and not conversation.tried("send_mail"):
            return "Mail.", [("send_mail", {"order_id": order_id, "text": "Your money is on its way."})]
        return f"Order {order_id} was refunded.", []
