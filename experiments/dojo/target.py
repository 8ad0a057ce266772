"""AgentDojo's suites as targets: a tool loop around a rule-based policy, with its faults where an agent's would be."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import cast

from chaosagent.canonical import Plain
from chaosagent.experiments.dojo.plan import Call
from chaosagent.experiments.dojo.policy import Habits, Policy, claims_in, spoken
from chaosagent.experiments.dojo.suite import Suite, ToolError
from chaosagent.experiments.dojo.world import OPERATION, World
from chaosagent.targets.target import Door, Run, Target
from chaosagent.vocabulary import ActionBlocked, Claim, Outcome, ServiceFault, StatusError, SystemConfig, Task

TURNS_MAX = 100
CONFIGS = (
    SystemConfig("retries", {"retries": 2, "looks": False}),
    SystemConfig("no-retries", {"retries": 0, "looks": False}),
    SystemConfig("checks-first", {"retries": 2, "looks": True}),
)
# Time-outs and broken connections are OSErrors.
_FAILURES = (ToolError, ActionBlocked, OSError, ServiceFault, StatusError)


@cache
def load(suite_name: str) -> Target:
    """Return a suite of AgentDojo as a target, `dojo-<suite>`; the same one every time.

    Args:
        suite_name: `banking`, `slack`, `travel` or `workspace`.

    Raises:
        UnknownNameError: There is no such suite.
        MissingExtraError: AgentDojo is not installed.
    """
    return target_of(Suite(suite_name))


def banking() -> Target:
    """Return the target `dojo-banking`."""
    return load("banking")


def slack() -> Target:
    """Return the target `dojo-slack`."""
    return load("slack")


def travel() -> Target:
    """Return the target `dojo-travel`."""
    return load("travel")


def workspace() -> Target:
    """Return the target `dojo-workspace`."""
    return load("workspace")


def target_of(suite: Suite) -> Target:
    """Return a suite of AgentDojo as a target."""

    async def run(task: Task, run: Run) -> Outcome:
        return await _Conversation(suite, task, run).carry_on()

    return Target(
        name=f"dojo-{suite.name}",
        run=run,
        tasks={
            name: Task(name, {"prompt": prepared.prompt}, prepared.category, untrusted=suite.vectors)
            for name, prepared in suite.tasks.items()
        },
        configs={config.name: config for config in CONFIGS},
        description=f"AgentDojo's {suite.name} suite: its tools, user tasks and checks, a rule-based policy.",
    )


class _Conversation:
    """The tool loop of one run: model, tool, model, ..., final message."""

    def __init__(self, suite: Suite, task: Task, run: Run) -> None:
        prepared = suite.tasks[task.id]
        settings = run.config.settings
        habits = Habits(retries=cast(int, settings["retries"]), looks=bool(settings["looks"]))
        self._run = run
        self._world = World(suite, prepared, run)
        self._model = run.model("agent", Policy(prepared.plan, habits))
        self._messages: list[Mapping[str, Plain]] = [{"role": "user", "content": prepared.prompt}]
        self._calls: list[Call] = []

    async def carry_on(self) -> Outcome:
        """Loop until the model calls no tool."""
        with self._run.agent("assistant"):
            message = await self._loop()
        return Outcome(
            message,
            success=self._world.passes(spoken(message), self._calls),
            claims=tuple(Claim(call.tool, call.arguments) for call in claims_in(message)),
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
            return {**answer, "content": await self._attempt(door, arguments)}
        except _FAILURES as error:
            return {**answer, "error": _error(type(error).__name__, str(error))}

    @staticmethod
    async def _attempt(door: Door, arguments: Mapping[str, Plain]) -> Plain:
        return cast(Plain, await door(OPERATION, **arguments))


def _error(kind: str, message: str) -> dict[str, Plain]:
    return {"kind": kind, "message": message}
