"""A deterministic policy in the place of a language model.

It sits behind the model door and sees what a model would see: the name of its prompt, the messages of the context and
the names of the tools. It answers as a model would: a text, and tool calls. It keeps nothing between two calls.
"""

from __future__ import annotations

from collections.abc import Sequence

from chaosagent.canonical import Plain
from chaosagent.experiments.triage.acting import act
from chaosagent.experiments.triage.context import Facts, Message, View
from chaosagent.experiments.triage.facts import number_of, text_of
from chaosagent.experiments.triage.planning import plan
from chaosagent.experiments.triage.prompts import Prompts
from chaosagent.experiments.triage.writing import call


class Policy:
    """The model of the three agents.

    Args:
        prompts: What their prompts say.
    """

    def __init__(self, prompts: Prompts) -> None:
        self._prompts = prompts

    def complete(self, prompt: str, messages: Sequence[Message], tools: Sequence[str]) -> dict[str, Plain]:
        """Return the next turn of an agent: `content` and `tool_calls`.

        Args:
            prompt: Name of the agent's prompt: `planner`, `verifier` or `action`.
            messages: The context so far.
            tools: Names of the tools that may be called.
        """
        view = View(messages)
        if prompt == "planner":
            return plan(view, self._prompts)
        if prompt == "verifier":
            return judge(view)
        return act(view, tools, follow_notes=self._prompts.follow_notes, ask_person=self._prompts.ask_person)


def judge(view: View) -> dict[str, Plain]:
    """Return the verifier's turn: whether a plan may be carried out."""
    objection = _objection(view.plan, view.answers.get("find_customer"))
    text = f"objection: {objection}" if objection else "approved"
    return call("", ("judge", {"text": text}))


def _objection(planned: Facts, customer: Plain) -> str:
    known = text_of(customer, "customer_id")
    if not known:
        return "the sender is not in the register"
    if known != text_of(planned, "customer_id"):
        return "the order is somebody else's"
    if number_of(planned, "amount") <= 0:
        return "there is nothing to pay back"
    return ""
