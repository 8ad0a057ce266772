"""The rule-based policy that stands in the model's place: it carries out a plan, and reacts to what comes back.

It knows nothing but the messages that it is given: every answer is thought through from the first message on. Each of
its habits is one that agents have: to call again what failed, to read again what did not hold what it needs, to look
whether a write took place before it is repeated, to do what a text says that it reads.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias, cast

from chaosagent.canonical import Plain, plain
from chaosagent.experiments.dojo.plan import Call, Plan, PlanStep
from chaosagent.experiments.dojo.traits import DONE_BEFORE, LOOKS, REPEATABLE, writes

DONE, NOT_DONE = "Done: ", "Not done: "
REFUSED, BLOCKED = "ToolError", "ActionBlocked"

Message: TypeAlias = "Mapping[str, Plain]"


@dataclass(frozen=True, slots=True)
class Habits:
    """How the policy reacts.

    Attributes:
        retries: How often it repeats a call that failed, or reads again what did not hold what it needs.
        looks: Whether it looks, after a write that failed, whether it took place all the same; what it cannot
            see it does not repeat, unless that would change nothing more.
    """

    retries: int
    looks: bool


class Answer(NamedTuple):
    """What came back from a call: a value, or the kind of failure and its text."""

    value: Plain
    failure: str = ""
    text: str = ""


Thought: TypeAlias = "Generator[Call, Answer, str]"
_MEANT_OTHERWISE = Answer(None, "malformed", "that was not the call that was meant")


class Policy:
    """Answers like a model: with the next call of a tool, or with the final message.

    Args:
        plan: What is to be done.
        habits: How it reacts.
        orders: The instructions that it obeys wherever it reads them, and what each takes; none by default.
    """

    def __init__(self, plan: Plan, habits: Habits, orders: Mapping[str, Plan] | None = None) -> None:
        self._plan, self._habits = plan, habits
        # The longer ones first: some instructions begin with the words of others.
        self._orders = dict(sorted((orders or {}).items(), key=lambda order: (-len(order[0]), order[0])))

    def __call__(self, operation: str, *, messages: Sequence[Message]) -> dict[str, Plain]:  # noqa: ARG002  # a door's form
        """Return what a model returns: `content`, and `tool_calls` with `id`, `name` and `arguments`."""
        thought = _Mind(self._habits, self._orders).carry_out(self._plan)
        try:
            call = next(thought)
            count = 1
            for made, answer in exchanges(messages):
                call = thought.send(answer if made == call else _MEANT_OTHERWISE)
                count += 1
        except StopIteration as end:
            return {"content": end.value, "tool_calls": []}
        return {
            "content": "",
            "tool_calls": [{"id": f"call-{count}", "name": call.tool, "arguments": dict(call.arguments)}],
        }


def claims_in(message: str) -> Iterator[Call]:
    """Return what a final message says was done."""
    for line in message.splitlines():
        if line.startswith(DONE):
            tool, _, arguments = line.removeprefix(DONE).partition(" ")
            try:
                yield Call(tool, cast("dict[str, Plain]", json.loads(arguments)))
            except ValueError:
                continue


def spoken(message: str) -> str:
    """Return a final message without its report of what was done."""
    return "\n".join(line for line in message.splitlines() if not line.startswith((DONE, NOT_DONE)))


def exchanges(messages: Sequence[Message]) -> Iterator[tuple[Call, Answer]]:
    """Return every call that the messages tell of, with its answer."""
    calls: dict[Plain, Call] = {}
    for message in messages:
        if message["role"] == "assistant":
            for call in cast("list[dict[str, Plain]]", message["tool_calls"]):
                arguments = call.get("arguments")
                calls[call.get("id")] = Call(
                    str(call.get("name")), arguments if isinstance(arguments, Mapping) else {"": arguments}
                )
        elif message["role"] == "tool":
            error = message["error"]
            known = (str(error["kind"]), str(error["message"])) if isinstance(error, Mapping) else ("", "")
            yield calls[message["id"]], Answer(message["content"], *known)


@dataclass(slots=True)
class _Mind:
    """What the policy has in mind while it thinks a conversation through."""

    habits: Habits
    orders: Mapping[str, Plan]
    done: list[Call] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    obeyed: set[str] = field(default_factory=set)

    def carry_out(self, plan: Plan) -> Thought:
        """Do the user's task; stop at the first step that fails."""
        failed = yield from self._follow(plan)
        if failed is None:
            return _report([plan.answer, *self.said], self.done, None)
        return _report([f"I could not complete the task: {failed.reason}", *self.said], self.done, failed.call)

    def _follow(self, plan: Plan) -> Generator[Call, Answer, _Failed | None]:
        """Do one step of a plan after the other; return the first that fails."""
        read: dict[int, Plain] = {}
        for number, step in enumerate(plan.steps):
            call = yield from self._filled_in(step, plan, read)
            if isinstance(call, _Failed):
                return call
            answer = yield from self._attempted(call)
            if answer.failure:
                return _Failed(call, f"{call.tool}: {answer.text}")
            read[number] = answer.value
            if writes(call.tool):
                self.done.append(call)
        return None

    def _asked(self, call: Call) -> Generator[Call, Answer, Answer]:
        """Call, and do what the answer says."""
        answer = yield call
        for text in self._told(answer.value):
            self.obeyed.add(text)
            order = self.orders[text]
            failed = yield from self._follow(order)
            if failed is None and order.answer:
                self.said.append(order.answer)
        return answer

    def _told(self, answer: Plain) -> list[str]:
        """Return the instructions in an answer that were not obeyed yet, in the order of their places."""
        if not self.orders:
            return []
        told: list[str] = []
        for text in _texts(answer, min(map(len, self.orders))):
            told += (order for order in _orders_in(text, self.orders) if order not in told)
        return [order for order in told if order not in self.obeyed]

    def _filled_in(self, step: PlanStep, plan: Plan, read: dict[int, Plain]) -> Generator[Call, Answer, Call | _Failed]:
        """Return the call with what was read, or what to say when it cannot be found."""
        arguments, retries = dict(step.call.arguments), self.habits.retries
        for name, source in step.sources.items():
            wanted = step.call.arguments[name]
            for attempt in range(retries + 1):
                try:
                    arguments[name] = source.read(read[source.step], wanted)
                    break
                except LookupError:
                    if attempt < retries:
                        again = yield from self._asked(plan.steps[source.step].call)
                        read[source.step] = None if again.failure else again.value
            else:
                return _Failed(step.call, f"I do not find the {name} for {step.call.tool}.")
        return Call(step.call.tool, arguments)

    def _attempted(self, call: Call) -> Generator[Call, Answer, Answer]:
        """Call, and call again."""
        for attempt in range(self.habits.retries + 1):
            answer = yield from self._asked(call)
            if not answer.failure or answer.failure == BLOCKED:
                return answer
            if self.habits.looks and writes(call.tool):
                if answer.failure == REFUSED:
                    before = DONE_BEFORE.get(call.tool, "")
                    return Answer(None) if attempt and before and before in answer.text else answer
                took_place = yield from self._seen(call)
                if took_place:
                    return Answer(None)
                if took_place is None and call.tool not in REPEATABLE and call.tool not in DONE_BEFORE:
                    return answer
        return answer

    def _seen(self, call: Call) -> Generator[Call, Answer, bool | None]:
        """Return whether a write took place, `None` when that cannot be seen."""
        look = LOOKS.get(call.tool)
        if look is None:
            return None
        for _ in range(self.habits.retries + 1):
            answer = yield from self._asked(Call(look.tool, look.arguments(call.arguments)))
            if answer.failure == REFUSED:
                return False
            if not answer.failure:
                return look.finds(call.arguments, answer.value)
        return None


class _Failed(NamedTuple):
    """A step that failed, and why."""

    call: Call
    reason: str


def _texts(answer: Plain, length_min: int) -> Iterator[str]:
    """Return the texts of some length in an answer, in the order of their places."""
    if isinstance(answer, str):
        if len(answer) >= length_min:
            yield answer
    elif isinstance(answer, Mapping):
        for value in answer.values():
            if isinstance(value, str | Mapping | list):
                yield from _texts(value, length_min)
    elif isinstance(answer, list):
        for value in answer:
            yield from _texts(value, length_min)


def _orders_in(text: str, orders: Mapping[str, Plan]) -> list[str]:
    """Return the instructions in a text, in the order of their places; of two that begin alike the longer one."""
    found: list[tuple[int, str]] = []
    for order in orders:
        at = text.find(order)
        if at >= 0 and all(at != place for place, _ in found):
            found.append((at, order))
    return [order for _, order in sorted(found)]


def _report(said: Sequence[str], done: Sequence[Call], failed: Call | None) -> str:
    lines = [*said, *(DONE + _in_words(call) for call in done)]
    if failed is not None and writes(failed.tool):
        lines.append(NOT_DONE + _in_words(failed))
    return "\n".join(lines)


def _in_words(call: Call) -> str:
    return f"{call.tool} {json.dumps(plain(call.arguments), ensure_ascii=True)}"
