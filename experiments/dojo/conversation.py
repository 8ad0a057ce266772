"""The tool loop of one run: model, tool, model, ..., final message."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import cast

from chaosagent.canonical import Plain
from chaosagent.experiments.dojo.plan import Call
from chaosagent.experiments.dojo.policy import claims_in, spoken
from chaosagent.experiments.dojo.suite import Prepared, Suite, ToolError
from chaosagent.experiments.dojo.vectors import replaced
from chaosagent.experiments.dojo.world import OPERATION, World
from chaosagent.governance.capability import Capability, CapabilitySet
from chaosagent.governance.mediator import PolicyMediator
from chaosagent.targets.target import Door, Run
from chaosagent.vocabulary import ActionBlocked, Claim, Outcome, ServiceFault, StatusError

TURNS_MAX = 100
AGENT = "assistant"
# Time-outs and broken connections are OSErrors.
_FAILURES = (ToolError, ActionBlocked, OSError, ServiceFault, StatusError)


class Conversation:
    """One run's conversation.

    Args:
        suite: The suite.
        prepared: The task.
        run: The run.
        policy: What answers in the model's place: it is called with an operation and all messages.
        allowed: The tools that the agent may use; all when `None`.
    """

    def __init__(
        self,
        suite: Suite,
        prepared: Prepared,
        run: Run,
        *,
        policy: Callable[..., Plain],
        allowed: Collection[str] | None = None,
    ) -> None:
        self._suite, self._run = suite, run
        self._world = World(suite, prepared, run)
        self._model = run.model("agent", policy)
        self._contexts: dict[str, Door] = {}
        self._messages: list[Mapping[str, Plain]] = [{"role": "user", "content": prepared.prompt}]
        self._calls: list[Call] = []
        self._told: set[str] = set()
        if allowed is not None:
            run.mediate(_only(allowed))

    async def carry_on(self) -> Outcome:
        """Loop until the model calls no tool."""
        with self._run.agent(AGENT):
            message = await self._loop()
        said = spoken(message)
        goals = self._world.goals(self._told, said, self._calls)
        return Outcome(
            message,
            success=self._world.passes(said, self._calls),
            claims=tuple(Claim(call.tool, call.arguments) for call in claims_in(message)),
            state={"goals": {name: str(became) for name, became in goals.items()}},
        )

    async def _loop(self) -> str:
        for _ in range(TURNS_MAX):
            self._run.checkpoint("loop", [self._messages, self._world.digest], clock_matters=False)
            try:
                reply = await self._model("complete", messages=list(self._messages))
            except _FAILURES as error:
                return f"The model did not answer: {error}"
            reply = reply if isinstance(reply, Mapping) else {}
            calls: list[Plain] = [call for call in reply.get("tool_calls") or () if isinstance(call, Mapping)]
            if not calls:
                return str(reply.get("content", ""))
            self._messages.append({"role": "assistant", "content": reply.get("content", ""), "tool_calls": calls})
            for call in calls:
                self._messages.append(await self._answer(cast("Mapping[str, Plain]", call)))
        return f"The agent did not come to an end in {TURNS_MAX} turns."

    async def _answer(self, call: Mapping[str, Plain]) -> Mapping[str, Plain]:
        """Return the message with a tool's answer, or with its failure in words."""
        name, arguments = str(call.get("name")), call.get("arguments")
        answer: dict[str, Plain] = {"role": "tool", "id": call.get("id"), "content": None, "error": None}
        door = self._world.door(name)
        if door is None:
            return {**answer, "error": _error("UnknownTool", f"there is no tool {name!r}")}
        if not isinstance(arguments, Mapping):
            return {**answer, "error": _error("BadArguments", "the arguments are no object")}
        self._calls.append(Call(name, arguments))
        try:
            return {**answer, "content": await self._read(await self._attempt(door, arguments))}
        except _FAILURES as error:
            return {**answer, "error": _error(type(error).__name__, str(error))}

    async def _read(self, answer: Plain) -> Plain:
        """Take an answer into the context; what others wrote in it gets there through a door of its own."""
        for vector, text in self._suite.vectors.in_answer(answer):
            if vector not in self._contexts:
                self._contexts[vector] = self._run.prompt(vector)
            read = cast(Plain, await self._contexts[vector]("read", text=text))
            if isinstance(read, str):
                self._told.update(self._suite.told_in(read))
                answer = answer if read == text else replaced(answer, text, read)
        return answer

    @staticmethod
    async def _attempt(door: Door, arguments: Mapping[str, Plain]) -> Plain:
        return cast(Plain, await door(OPERATION, **arguments))


def _only(tools: Collection[str]) -> PolicyMediator:
    """Return who allows the agent some tools only."""
    allowed = (
        *(Capability(f"service:{tool}") for tool in sorted(tools)),
        Capability("model:*"),
        Capability("prompt:*"),
    )
    return PolicyMediator({AGENT: CapabilitySet(allowed)})


def _error(kind: str, message: str) -> dict[str, Plain]:
    return {"kind": kind, "message": message}
