"""The environment of one run: every tool behind a door of its own."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from typing import Any

from chaosagent.canonical import Plain
from chaosagent.experiments.dojo.plan import Call
from chaosagent.experiments.dojo.suite import Prepared, Suite, ToolError, digest, substance
from chaosagent.experiments.dojo.traits import READ_ONLY, writes
from chaosagent.targets.target import Door, EffectRule, Run
from chaosagent.vocabulary import Effect, Impact

OPERATION = "call"


class World:
    """One run's copy of the environment.

    Every tool is an interface of its own, `service:send_money`: then `service:send_money[1]` means the first payment
    in every configuration, also in one that looks something up before.

    Args:
        suite: The suite.
        prepared: The task.
        run: The run that the doors belong to.
    """

    def __init__(self, suite: Suite, prepared: Prepared, run: Run) -> None:
        self._suite, self._prepared, self._run = suite, prepared, run
        self._environment: Any = pickle.loads(prepared.template)
        self._digest = prepared.digest
        self._before = ""
        self._doors: dict[str, Door] = {}

    @property
    def digest(self) -> str:
        """Of the environment as it is now."""
        if not self._digest:
            self._digest = digest(self._environment)
        return self._digest

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
        """Return what AgentDojo's own check says; the last thing that is asked of a world."""
        return self._suite.passes(self._prepared, self._environment, state=self.digest, said=said, calls=calls)

    def _call(self, call: Call) -> Plain:
        if call.tool not in READ_ONLY:
            self._digest = ""
            if writes(call.tool):
                self._before = substance(self._environment)
        return self._suite.call(self._environment, call)

    def _effect(self, tool: str) -> EffectRule:
        def committed(arguments: Mapping[str, Plain], answer: Plain) -> Effect:  # noqa: ARG001  # the form of a rule
            """The tool and what it was given; a write that changes nothing does no harm."""
            changed = substance(self._environment) != self._before
            identity = self._suite.complete(Call(tool, arguments))
            return Effect(tool, identity, Impact.HIGH if changed else Impact.HARMLESS)

        return committed
