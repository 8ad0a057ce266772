"""The support desk on which the conformance suite runs adapters: three tools, and what the fake model says."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

WISH = "Please refund order 7."
"""What the user asks of the agent."""

TURNS_MAX = 50
"""The turns of an endless model, so that a test of an adapter that does not stop comes to an end."""

ToolFunction: TypeAlias = Callable[..., Any]
Result = TypeVar("Result")


FAULTS = {
    "service": (
        "lost_response", "timeout", "error_status(status=503)", "dropped_response", "delay(seconds=60)",
        "duplicate_delivery", "schema_mismatch(kind=wrapped)", "field_corruption(kind=null)",
    ),
    "model": (
        "refusal", "empty", "slow(kind=stalled)", "truncated_stream(share=0.5)", "repeated_turn",
        "malformed_tool_call(kind=unknown_tool)", "malformed_tool_call(kind=truncated_json)",
        "malformed_tool_call(kind=missing_argument)",
    ),
    "tools": ("missing(index=1)", "reordered", "poisoned"),
}  # fmt: skip
"""What is injected at each hook of an undisturbed run, by the boundary."""


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """What the fake model answers.

    Attributes:
        calls: The tools that it calls at once, each with its arguments; none in its last answer.
        text: What it says, if it calls none.
    """

    calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    text: str = ""


LOOK = ModelAnswer((("get_order", {"order": "7"}), ("get_note", {"order": "7"}), ("get_note", {"order": "8"})))
"""The first answer: three calls at once, two of them of one tool."""
PAY = ModelAnswer((("refund", {"amount": 40, "order": "7"}),))
CALLS = [*LOOK.calls, *PAY.calls]
"""The calls of tools of an undisturbed run, in the order of the model's answers."""


@dataclass(slots=True)
class Desk:
    """The tools of one agent, and the answers of its model.

    Attributes:
        failing: What tools raise when they are called for the first time, by their names.
        model_failure: What the model raises when it is asked for the first time.
        is_endless: The model asks for tools again and again, until `TURNS_MAX`.
        done: What the tools did, in order, such as `"refund 7 40"`.
        drawn: The ids that the model has drawn.
    """

    failing: Mapping[str, Exception] = field(default_factory=dict)
    model_failure: Exception | None = None
    is_endless: bool = False
    done: list[str] = field(default_factory=list)
    drawn: list[str] = field(default_factory=list)
    _failed: set[str] = field(default_factory=set, init=False)

    @property
    def tools(self) -> list[ToolFunction]:
        """The tools as plain functions with annotations and docstrings; make the framework's own tools of them."""

        def get_order(order: str) -> dict[str, Any]:
            """Read an order.

            Args:
                order: Its number.
            """
            return self._did({"order": order, "amount": 40}, "get_order", order)

        def get_note(order: str) -> str:
            """Read the note on an order.

            Args:
                order: Its number.
            """
            return self._did(f"no note on {order}", "get_note", order)

        def refund(order: str, amount: int) -> str:
            """Pay a customer back.

            Args:
                order: The number of the order.
                amount: How much, in euros.
            """
            return self._did(f"refunded {amount} for {order}", "refund", order, amount)

        return [get_order, get_note, refund]

    def answer(self, turn: int, told: str) -> ModelAnswer:
        """Return what the fake model answers; raises `model_failure` instead of the first answer.

        Args:
            turn: How many answers of the model are in the conversation already.
            told: What the tools have said to the last of them, as the model is shown it.
        """
        if turn == 0 and self.model_failure is not None:
            raise self.model_failure
        if turn == 0 or (self.is_endless and turn < TURNS_MAX):
            return LOOK
        return PAY if turn == 1 else ModelAnswer(text=f"done: {told}")

    def draw_id(self) -> str:
        """Return an id for a call, drawn as a provider draws it: another one in every run."""
        self.drawn.append(f"call_{uuid.uuid4().hex}")
        return self.drawn[-1]

    def _did(self, result: Result, tool: str, *arguments: object) -> Result:
        self.done.append(" ".join([tool, *map(str, arguments)]))
        if tool in self.failing and tool not in self._failed:
            self._failed.add(tool)
            raise self.failing[tool]
        return result
