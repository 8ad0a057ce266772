"""The rule-based policy that stands in the model's place: it carries out a plan, and reacts to what comes back.

It knows nothing but the messages that it is given: every answer is thought through from the first message on. Each of
its habits is one that agents have: to call again what failed, to read again what did not hold what it needs, to look
whether a write took place before it is repeated.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, cast

from chaosagent.canonical import Plain, plain
from chaosagent.experiments.dojo.plan import Call, Plan, PlanStep
from chaosagent.experiments.dojo.traits import DONE_BEFORE, LOOKS, REPEATABLE, writes

DONE, NOT_DONE = "Done: ", "Not done: "
REFUSED = "ToolError"

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
    """

    def __init__(self, plan: Plan, habits: Habits) -> None:
        self._plan, self._habits = plan, habits

    def __call__(self, operation: str, *, messages: Sequence[Message]) -> dict[str, Plain]:  # noqa: ARG002  # a door's form
        """Return what a model returns: `content`, and `tool_calls` with `id`, `name` and `arguments`."""
        thought = _carry_out(self._plan, self._habits)
        try:
            call = next(thought)
            count = 1
            for made, answer in _exchanges(messages):
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


def _exchanges(messages: Sequence[Message]) -> Iterator[tuple[Call, Answer]]:
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


def _carry_out(plan: Plan, habits: Habits) -> Thought:
    """Do one step after the other; stop at the first that fails."""
    read: dict[int, Plain] = {}
    done: list[Call] = []
    for number, step in enumerate(plan.steps):
        call = yield from _filled_in(step, plan, habits, read)
        if isinstance(call, str):
            return _report(call, done, step.call)
        answer = yield from _attempted(call, habits)
        if answer.failure:
            return _report(f"I could not complete the task: {call.tool}: {answer.text}", done, call)
        read[number] = answer.value
        if writes(call.tool):
            done.append(call)
    return _report(plan.answer, done, None)


def _filled_in(
    step: PlanStep, plan: Plan, habits: Habits, read: dict[int, Plain]
) -> Generator[Call, Answer, Call | str]:
    """Return the call with what was read, or what to say when it cannot be found."""
    arguments = dict(step.call.arguments)
    for name, source in step.sources.items():
        wanted = step.call.arguments[name]
        for attempt in range(habits.retries + 1):
            try:
                arguments[name] = source.read(read[source.step], wanted)
                break
            except LookupError:
                if attempt < habits.retries:
                    again = yield plan.steps[source.step].call
                    read[source.step] = None if again.failure else again.value
        else:
            return f"I could not complete the task: I do not find the {name} for {step.call.tool}."
    return Call(step.call.tool, arguments)


def _attempted(call: Call, habits: Habits) -> Generator[Call, Answer, Answer]:
    """Call, and call again."""
    for attempt in range(habits.retries + 1):
        answer = yield call
        if not answer.failure:
            return answer
        if habits.looks and writes(call.tool):
            if answer.failure == REFUSED:
                before = DONE_BEFORE.get(call.tool, "")
                return Answer(None) if attempt and before and before in answer.text else answer
            took_place = yield from _seen(call, habits)
            if took_place:
                return Answer(None)
            if took_place is None and call.tool not in REPEATABLE and call.tool not in DONE_BEFORE:
                return answer
    return answer


def _seen(call: Call, habits: Habits) -> Generator[Call, Answer, bool | None]:
    """Return whether a write took place, `None` when that cannot be seen."""
    look = LOOKS.get(call.tool)
    if look is None:
        return None
    for _ in range(habits.retries + 1):
        answer = yield Call(look.tool, look.arguments(call.arguments))
        if answer.failure == REFUSED:
            return False
        if not answer.failure:
            return look.finds(call.arguments, answer.value)
    return None


def _report(answer: str, done: Sequence[Call], failed: Call | None) -> str:
    lines = [answer, *(DONE + _in_words(call) for call in done)]
    if failed is not None and writes(failed.tool):
        lines.append(NOT_DONE + _in_words(failed))
    return "\n".join(lines)


def _in_words(call: Call) -> str:
    return f"{call.tool} {json.dumps(plain(call.arguments), ensure_ascii=True)}"
