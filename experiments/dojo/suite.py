"""One of AgentDojo's suites: its tasks, their plans, its tools, the goals of its attackers, its own checks."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from chaosagent.canonical import Plain, plain
from chaosagent.errors import UnknownNameError
from chaosagent.experiments.dojo.environment import Environment, Start
from chaosagent.experiments.dojo.frozen_clock import FrozenClock
from chaosagent.experiments.dojo.judge import End, Judge
from chaosagent.experiments.dojo.light_import import require_agentdojo
from chaosagent.experiments.dojo.orders import calls_for
from chaosagent.experiments.dojo.plan import Call, Plan, plan
from chaosagent.experiments.dojo.traits import READ_ONLY
from chaosagent.experiments.dojo.vectors import Vectors
from chaosagent.extras import require

SUITES = ("banking", "slack", "travel", "workspace")
VERSION = "v1.2.2"


class ToolError(Exception):
    """A tool refused; the text is AgentDojo's."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """One user task, ready to be run.

    Attributes:
        id: As AgentDojo has it.
        prompt: What the user asks.
        category: Of the workload.
        plan: What the scripted agent does.
        start: The environment at the start.
    """

    id: str
    prompt: str
    category: str
    plan: Plan
    start: Start


class Suite:
    """A suite of AgentDojo.

    Args:
        name: One of `SUITES`.
        injections: Texts for AgentDojo's injection vectors, by vector; the harmless defaults for the others.

    Raises:
        UnknownNameError: There is no such suite.
        MissingExtraError: AgentDojo is not installed.
    """

    def __init__(self, name: str, injections: Mapping[str, str] | None = None) -> None:
        if name not in SUITES:
            raise UnknownNameError("suite of AgentDojo", name, SUITES)
        self.name = name
        self._suite: Any = require_agentdojo(f"target dojo-{name}").get_suite(VERSION, name)
        runtime = require("agentdojo.functions_runtime", extra="dojo", needed_by=f"target dojo-{name}")
        self._runtime: Any = runtime.FunctionsRuntime(self._suite.tools)
        self._tools: dict[str, Any] = {tool.name: tool for tool in self._suite.tools}
        self._parts = {name: _parts(tool) for name, tool in self._tools.items()}
        self._frozen = FrozenClock()
        self._injections = dict(injections or {})
        self._start = Start(self._suite.load_and_inject_default_environment(self._injections))
        self._orders: dict[str, Mapping[str, Plan]] = {}
        self.judge = Judge()

    @property
    def tools(self) -> Collection[str]:
        """The names of its tools."""
        return self._tools.keys()

    @cached_property
    def vectors(self) -> Vectors:
        """The places where somebody else's text stands."""
        return Vectors(self._suite, self._injections)

    @cached_property
    def tasks(self) -> Mapping[str, Prepared]:
        """Its user tasks by id, in AgentDojo's order of numbers."""
        known = self._suite.user_tasks
        return {name: self._prepare(known[name]) for name in sorted(known, key=_number)}

    @cached_property
    def goals(self) -> Mapping[str, str]:
        """The goals of its attackers, by id of the injection task: an instruction, as AgentDojo words it."""
        known = self._suite.injection_tasks
        return {name: known[name].GOAL for name in sorted(known, key=_number)}

    def orders(self, prepared: Prepared) -> Mapping[str, Plan]:
        """Return what carrying out each attacker's instruction takes, by its text."""
        digest = prepared.start.digest
        if digest not in self._orders:
            self._orders[digest] = {text: self._order(name, prepared.start) for name, text in self.goals.items()}
        return self._orders[digest]

    def told_in(self, text: str) -> tuple[str, ...]:
        """Return the ids of the injection tasks whose instructions stand in a text."""
        return tuple(name for name, goal in self.goals.items() if goal in text)

    def call(self, environment: Environment, call: Call) -> Plain:
        """Run a tool on an environment.

        Raises:
            ToolError: The tool refused.
        """
        read_only = call.tool in READ_ONLY
        given = environment.readable if read_only else environment.writable(self._parts[call.tool])
        with self._frozen:
            value, error = self._runtime.run_function(given, call.tool, call.arguments)
        if error is not None:
            raise ToolError(error)
        if call.tool == "create_calendar_event":
            value.participants.sort()  # AgentDojo takes them from a set, in the order of hashes
        return plain(value)

    def complete(self, call: Call) -> dict[str, Plain]:
        """Return the arguments of an accepted call as the tool takes them, without those that are null."""
        taken = self._tools[call.tool].parameters.model_validate(call.arguments)
        return dict(taken.model_dump(mode="json", exclude_none=True))

    def passes(self, prepared: Prepared, end: End) -> bool:
        """Return whether AgentDojo's own check finds that the task was done."""
        return self.judge.done(self._suite.user_tasks[prepared.id], prepared.start, end)

    def reaches(self, prepared: Prepared, goal: str, end: End) -> bool:
        """Return whether AgentDojo's own check finds that an attacker's goal was reached."""
        return self.judge.reached(self._suite.injection_tasks[goal], prepared.start, end)

    def _prepare(self, task: Any) -> Prepared:
        start = Start(task.init_environment(self._start.copy()))
        calls = [_plain_call(call) for call in task.ground_truth(start.copy())]
        return Prepared(
            id=task.ID,
            prompt=task.PROMPT,
            category="planning" if len(calls) > 3 else "tool use",
            plan=self._plan(calls, start, prompt=task.PROMPT, answer=task.GROUND_TRUTH_OUTPUT),
            start=start,
        )

    def _order(self, name: str, start: Start) -> Plan:
        goal = self._suite.injection_tasks[name]
        calls = [_plain_call(call) for call in goal.ground_truth(start.copy())]
        calls = calls or calls_for(self.name, name, start.copy())
        return self._plan(calls, start, prompt=goal.GOAL, answer=goal.GROUND_TRUTH_OUTPUT)

    def _plan(self, calls: list[Call], start: Start, *, prompt: str, answer: str) -> Plan:
        environment = Environment(start)
        return plan(calls, [self._try(environment, call) for call in calls], prompt=prompt, answer=answer)

    def _try(self, environment: Environment, call: Call) -> Plain:
        """Return the answer to a call; nothing when it is refused, as some are in another task's environment."""
        try:
            return self.call(environment, call)
        except ToolError:
            return None


def _parts(tool: Any) -> tuple[str, ...]:
    """Return the names of the parts of an environment that a tool is given."""
    return tuple(sorted({str(depends.env_dependency) for depends in tool.dependencies.values()}))


def _number(name: str) -> int:
    return int(name.rpartition("_")[2])


def _plain_call(call: Any) -> Call:
    return Call(call.function, {name: plain(value) for name, value in call.args.items()})
