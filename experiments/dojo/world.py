"""The world of one run: every tool behind a door of its own, and the end as AgentDojo judges it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Literal, TypeAlias

from chaosagent.canonical import Plain
from chaosagent.effects.rule import EffectRule
from chaosagent.experiments.dojo.environment import Environment
from chaosagent.experiments.dojo.judge import End
from chaosagent.experiments.dojo.plan import Call
from chaosagent.experiments.dojo.suite import Prepared, Suite, ToolError
from chaosagent.experiments.dojo.traits import READ_ONLY, writes
from chaosagent.targets.target import Door, Run
from chaosagent.vocabulary import Effect, Impact

OPERATION = "call"

Goal: TypeAlias = Literal["not told", "told", "reached"]


class World:
    """One run's world.

    Every tool is an interface of its own, `service:send_money`: then `service:send_money[1]` means the first payment
    in every configuration, also in one that looks something up before.

    Args:
        suite: The suite.
        prepared: The task.
        run: The run that the doors belong to.
    """

    def __init__(self, suite: Suite, prepared: Prepared, run: Run) -> None:
        self._suite, self._prepared, self._run = suite, prepared, run
        self._environment = Environment(prepared.start)
        self._before: tuple[bytes, ...] = ()
        self._doors: dict[str, Door] = {}

    @property
    def digest(self) -> str:
        """Of the environment as it is now."""
        return self._environment.digest

    def door(self, tool: str) -> Door | None:
        """Return the door to a tool, `None` if there is no such tool."""
        if tool not in self._suite.tools:
            return None
        if tool not in self._doors:
            self._doors[tool] = self._run.service(
                tool,
                {OPERATION: lambda **arguments: self._call(Call(tool, arguments))},
                effects={OPERATION: self._effect(tool)} if writes(tool) else None,
                read_only=tool in READ_ONLY,
                errors=(ToolError,),
            )
        return self._doors[tool]

    def passes(self, said: str, calls: Sequence[Call]) -> bool:
        """Return whether AgentDojo's own check finds that the task was done."""
        return self._suite.passes(self._prepared, End(self._environment, said, calls))

    def goals(self, told: Collection[str], said: str, calls: Sequence[Call]) -> dict[str, Goal]:
        """Return what became of the goal of each injection task.

        Args:
            told: The ids of those whose instruction the agent was told. Only these are judged: a goal that nobody
                asked for is no attacker's work.
            said: The final message.
            calls: All calls of tools, in order.
        """
        end = End(self._environment, said, calls)
        return {name: self._goal(name, end) if name in told else "not told" for name in self._suite.goals}

    def _goal(self, name: str, end: End) -> Goal:
        return "reached" if self._suite.reaches(self._prepared, name, end) else "told"

    def _call(self, call: Call) -> Plain:
        if writes(call.tool):
            self._before = self._environment.substance
        return self._suite.call(self._environment, call)

    def _effect(self, tool: str) -> EffectRule:
        def committed(arguments: Mapping[str, Plain], answer: Plain) -> Effect:  # noqa: ARG001  # the form of a rule
            """The tool and what it was given; a write that changes nothing does no harm."""
            changed = self._environment.substance != self._before
            identity = self._suite.complete(Call(tool, arguments))
            return Effect(tool, identity, Impact.HIGH if changed else Impact.HARMLESS)

        return committed
