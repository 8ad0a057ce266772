"""One of AgentDojo's suites: its tasks, their plans, its tools, its own check."""

from __future__ import annotations

import pickle
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

from chaosagent.canonical import DIGEST_BYTES, Plain, digest_of, plain
from chaosagent.errors import UnknownNameError
from chaosagent.experiments.dojo.frozen_clock import FrozenClock
from chaosagent.experiments.dojo.light_import import require_agentdojo
from chaosagent.experiments.dojo.plan import Call, Plan, plan
from chaosagent.experiments.dojo.traits import LOGS
from chaosagent.extras import require

SUITES = ("banking", "slack", "travel", "workspace")
VERSION = "v1.2.2"
JUDGED_MAX = 20_000

# What a check of AgentDojo raises on a state that its author did not think of: an empty inbox, a user who is gone.
_UNFORESEEN = (ArithmeticError, AssertionError, AttributeError, LookupError, StopIteration, TypeError, ValueError)


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
        template: The environment at the start, pickled.
        digest: Of that environment.
        judged_by_calls: Whether AgentDojo's check looks at the calls too.
    """

    id: str
    prompt: str
    category: str
    plan: Plan
    template: bytes
    digest: str
    judged_by_calls: bool


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
        self._function_call: Any = runtime.FunctionCall
        self._tools: dict[str, Any] = {tool.name: tool for tool in self._suite.tools}
        self._by_default = require("agentdojo.base_tasks", extra="dojo", needed_by="").BaseUserTask.utility_from_traces
        self._frozen = FrozenClock()
        self._judged: dict[tuple[str, str, str, str], bool] = {}
        self._environment = pickle.dumps(self._suite.load_and_inject_default_environment(dict(injections or {})))

    @property
    def tools(self) -> Collection[str]:
        """The names of its tools."""
        return self._tools.keys()

    @cached_property
    def vectors(self) -> tuple[str, ...]:
        """The names of the places where somebody else's text stands, sorted."""
        return tuple(sorted(self._suite.get_injection_vector_defaults()))

    @cached_property
    def tasks(self) -> Mapping[str, Prepared]:
        """Its user tasks by id, in AgentDojo's order of numbers."""
        known = self._suite.user_tasks
        numbered = sorted(known, key=lambda name: int(name.rpartition("_")[2]))
        return {name: self._prepare(known[name]) for name in numbered}

    def call(self, environment: Any, call: Call) -> Plain:
        """Run a tool on an environment.

        Raises:
            ToolError: The tool refused.
        """
        with self._frozen:
            value, error = self._runtime.run_function(environment, call.tool, call.arguments)
        if error is not None:
            raise ToolError(error)
        if call.tool == "create_calendar_event":
            value.participants.sort()  # AgentDojo takes them from a set, in the order of hashes
        return plain(value)

    def complete(self, call: Call) -> dict[str, Plain]:
        """Return the arguments of an accepted call as the tool takes them, without those that are null."""
        taken = self._tools[call.tool].parameters.model_validate(call.arguments)
        return dict(taken.model_dump(mode="json", exclude_none=True))

    def passes(self, prepared: Prepared, environment: Any, *, state: str, said: str, calls: Sequence[Call]) -> bool:
        """Return whether AgentDojo's own check finds that the task was done.

        Args:
            prepared: The task.
            environment: As the run left it; the check may change it.
            state: Its digest. Judgements are kept by it, so that a search is not spent in the check.
            said: The final message.
            calls: All calls of tools, in order.
        """
        made = digest_of([list[Plain](call) for call in calls]) if prepared.judged_by_calls else ""
        key = (prepared.id, state, said, made)
        if key not in self._judged:
            if len(self._judged) >= JUDGED_MAX:
                self._judged.clear()
            self._judged[key] = self._check(prepared, environment, said, calls)
        return self._judged[key]

    def _check(self, prepared: Prepared, environment: Any, said: str, calls: Sequence[Call]) -> bool:
        task = self._suite.user_tasks[prepared.id]
        before = pickle.loads(prepared.template)
        made = [self._function_call(function=call.tool, args=dict(call.arguments)) for call in calls]
        try:
            by_calls = task.utility_from_traces(said, before, environment, made)
            return bool(task.utility(said, before, environment) if by_calls is None else by_calls)
        except _UNFORESEEN:
            return False

    def _prepare(self, task: Any) -> Prepared:
        start = task.init_environment(pickle.loads(self._environment))
        template = pickle.dumps(start)
        environment = pickle.loads(template)
        calls = [Call(call.function, _plain_arguments(call.args)) for call in task.ground_truth(pickle.loads(template))]
        answers = [self.call(environment, call) for call in calls]
        return Prepared(
            id=task.ID,
            prompt=task.PROMPT,
            category="planning" if len(calls) > 3 else "tool use",
            plan=plan(calls, answers, prompt=task.PROMPT, answer=task.GROUND_TRUTH_OUTPUT),
            template=template,
            digest=digest(start),
            judged_by_calls=type(task).utility_from_traces is not self._by_default,
        )


def _plain_arguments(arguments: Mapping[str, object]) -> dict[str, Plain]:
    return {name: plain(value) for name, value in arguments.items()}


def digest(environment: Any) -> str:
    """Return the digest of an environment; equal states reached by equal calls have equal ones."""
    return blake2b(environment.model_dump_json().encode(), digest_size=DIGEST_BYTES).hexdigest()


def substance(environment: Any) -> str:
    """Return an environment as text, without its logs of requests."""
    return str(environment.model_dump_json(exclude=LOGS))
