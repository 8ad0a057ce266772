"""An agent that talks to a recording: the model and the tools answer as they once did.

    async def agent(conversation):
        messages = list(conversation.opening)
        answer = await conversation.model(messages)
        ...

What was never recorded ends the run as inconclusive: neither the model nor a tool is made to say anything new.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from chaosagent.adapters.core.calls import answer_from, calls_of
from chaosagent.adapters.doors import FrameworkDoors, Tools
from chaosagent.adapters.recorded.recording import Position, Recording, tool_message
from chaosagent.canonical import Plain, digest_of, plain
from chaosagent.targets.target import Run
from chaosagent.trace.conversations import ASSISTANT
from chaosagent.vocabulary import Outcome, StatusError, SystemConfig, Task

MODEL = "model"
RETRYING = SystemConfig("retrying", {"attempts_max": 3, "seconds_max": 30.0})
PATIENT = SystemConfig("patient", {"attempts_max": 1, "seconds_max": 86_400.0})
CONFIGS = (RETRYING, PATIENT)
"""How the built-in agent calls models and tools: as clients do that retry by themselves, or only once."""
PAUSE_SECONDS = 1.0
_BUSY = (408, 429)
_SERVER_ERRORS = 500


class Unanswered(Exception):
    """A call that failed as often as it was attempted."""


class LiveConversation:
    """One recorded conversation, had again in a run.

    Args:
        run: The run.
        recording: All conversations.
        tools: What is known about the tools.

    Attributes:
        run: The run.
        opening: The messages before the assistant's first.
    """

    def __init__(self, run: Run, recording: Recording, tools: Tools) -> None:
        self.run = run
        self.opening: list[Plain] = recording.conversations[run.task.id].opening
        self._recording, self._doors = recording, FrameworkDoors(run, tools)
        self._turn = Position(0, 0)
        self._made: Counter[str] = Counter()

    def said_by_others(self, messages: Sequence[Plain]) -> list[Plain]:
        """Return what was said next until it was the assistant's turn, such as by the user; nothing if it is.

        Args:
            messages: All so far.

        Ends the run as inconclusive if these messages were never said.
        """
        found: list[Plain] = []
        while True:
            following = self._recording.following(self._position([*messages, *found]))
            if following is None or following["role"] == ASSISTANT:
                return found
            found.append(dict(following))

    def is_over(self, messages: Sequence[Plain]) -> bool:
        """Whether the recorded conversation ended here; inconclusive as above."""
        return self._recording.following(self._position(messages)) is None

    async def model(self, messages: Sequence[Plain]) -> Mapping[str, Any]:
        """Ask the model: return what the assistant said next, `content` and `tool_calls`; inconclusive as above.

        Args:
            messages: All so far.
        """
        turn = self._turn = self._position(messages)
        self._made.clear()

        def say(request: Mapping[str, Any]) -> Plain:
            position = self._position(request["messages"])
            following = self._recording.following(position)
            if following is None or following["role"] != ASSISTANT:
                self.run.inconclusive("the model was asked where no answer of a model was recorded")
            return {"content": following["content"], "tool_calls": following["tool_calls"]}

        call = f"{turn.conversation}.{turn.message}"
        return answer_from(await self._doors.model(MODEL, {"messages": list(messages)}, say, call=call))

    def tool(self, name: str, arguments: Mapping[str, Any]) -> Callable[[], Awaitable[Plain]]:
        """Return a call of a tool, to be made once or, by a layer that retries, several times.

        Args:
            name: Of the tool.
            arguments: Of the call.

        The answer is that of the same call in the turn in which the model was asked last, or in the latest turn before
        it with such a call. A call that was never made ends the run as inconclusive.
        """
        turn, key = self._turn, digest_of([name, plain(arguments)])
        ordinal = self._made[key]
        self._made[key] += 1

        def act(asked: Mapping[str, Any]) -> Plain:
            call = self._recording.answer(turn, name, dict(asked), ordinal)
            if call is None:
                self.run.inconclusive(f"{name} was called with arguments that were not recorded there")
            return call.answer

        async def attempt() -> Plain:
            number = f"{turn.conversation}.{turn.message}.{ordinal}"
            answer: Plain = await self._doors.tool(name, arguments, act, call=number)
            return answer

        return attempt

    def _position(self, messages: Sequence[Plain]) -> Position:
        found = self._recording.position(messages, self.run.task.id)
        if found is None:
            self.run.inconclusive("the conversation left the recorded path")
        return found


Agent: TypeAlias = Callable[[LiveConversation], Awaitable[Any]]


async def agent(conversation: LiveConversation) -> str:
    """Ask the model and call what it calls, at the same time, until the recorded conversation is over."""
    settings = conversation.run.config.settings
    messages, said = list(conversation.opening), ""
    while True:
        messages += conversation.said_by_others(messages)
        if conversation.is_over(messages):
            return said
        try:
            answer = await _attempted(conversation.run, partial(conversation.model, messages), settings)
        except Unanswered:
            conversation.run.inconclusive("the model could not be asked")
        calls = calls_of(answer)
        content = answer.get("content")
        said = content if isinstance(content, str) else said
        messages.append({"role": ASSISTANT, "content": plain(content), "tool_calls": plain(calls)})
        answers = [_answered(conversation, call, settings) for call in calls]
        messages += [dict(tool_message(answer)) for answer in await asyncio.gather(*answers)]


async def _answered(conversation: LiveConversation, call: Mapping[str, Any], settings: Mapping[str, Plain]) -> Plain:
    name, arguments = str(call.get("name")), call.get("arguments")
    if not isinstance(arguments, Mapping):
        arguments = {"arguments": arguments}
    try:
        answer: Plain = await _attempted(conversation.run, conversation.tool(name, arguments), settings)
    except Unanswered as error:
        answer = f"Error: {error}"
    return answer


async def _attempted(run: Run, call: Callable[[], Awaitable[Any]], settings: Mapping[str, Any]) -> Any:
    """Make a call as a client does that retries by itself what may have been a passing trouble."""
    attempts_max, seconds_max = int(settings["attempts_max"]), float(settings["seconds_max"])
    trouble = ""
    for number in range(attempts_max):
        if number:
            await run.clock.sleep(PAUSE_SECONDS)
        try:
            async with asyncio.timeout(seconds_max):
                return await call()
        except (TimeoutError, ConnectionError) as error:
            trouble = f"{type(error).__name__}: {error}"
        except StatusError as error:
            trouble = str(error)
            if error.status not in _BUSY and error.status < _SERVER_ERRORS:
                break
    raise Unanswered(trouble)


@dataclass(frozen=True, slots=True)
class RecordedAgent:
    """What runs a target that was recorded.

    Attributes:
        recording: Its conversations.
        tools: What is known about the tools.
        agent: Talks to the recording.
        files: What it is made of; a change makes it another target.
    """

    recording: Recording
    tools: Tools
    agent: Agent = agent
    files: tuple[Path, ...] = field(default=())

    async def __call__(self, task: Task, run: Run) -> Any:  # noqa: ARG002  # as a target is called
        """Have a conversation once."""
        said = await self.agent(LiveConversation(run, self.recording, self.tools))
        return Outcome(said, success=True) if isinstance(said, str) else said
