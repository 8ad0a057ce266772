"""AgentDojo's own checks of a final state: was the user's task done, was the attacker's goal reached.

A check copies and compares environments, which takes longer than a run. Its judgement depends on the state at the
start, the state at the end, the final message and, for some, the calls; it is kept by their digests, so that a search,
in which many schedules lead to the same end, is not spent in checks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from chaosagent.canonical import Plain, digest_of
from chaosagent.experiments.dojo.environment import Environment, Start, share
from chaosagent.experiments.dojo.environment import digest_of as state_of
from chaosagent.experiments.dojo.plan import Call
from chaosagent.extras import require

KEPT_MAX = 20_000

# What a check of AgentDojo raises on a state that its author did not think of: an empty inbox, a user who is gone.
_UNFORESEEN = (ArithmeticError, AssertionError, AttributeError, LookupError, StopIteration, TypeError, ValueError)

_Key: TypeAlias = "tuple[str, str, str, str, str]"


class End(NamedTuple):
    """How a run left the world.

    Attributes:
        environment: As it is at the end; no check changes it.
        said: The final message.
        calls: All calls of tools, in order.
    """

    environment: Environment
    said: str
    calls: Sequence[Call]


@dataclass(slots=True)
class Judge:
    """Asks AgentDojo's checks, each at most once for the same end.

    Attributes:
        checked: How often a check was really asked.
        function_call: AgentDojo's class of a call.
        kept: The judgements so far.
    """

    checked: int = 0
    function_call: Any = None
    kept: dict[_Key, bool] = field(default_factory=dict)
    _defaults: tuple[object, ...] = ()

    def __post_init__(self) -> None:
        bases = require("agentdojo.base_tasks", extra="dojo", needed_by="AgentDojo's checks")
        runtime = require("agentdojo.functions_runtime", extra="dojo", needed_by="AgentDojo's checks")
        self._defaults = (bases.BaseUserTask.utility_from_traces, bases.BaseInjectionTask.security_from_traces)
        self.function_call = runtime.FunctionCall

    def done(self, task: Any, start: Start, end: End) -> bool:
        """Return whether AgentDojo finds that a user task was done."""
        return self.judgement(task, start, end, task.utility_from_traces, task.utility)

    def reached(self, goal: Any, start: Start, end: End) -> bool:
        """Return whether AgentDojo finds that the goal of an injection task was reached."""
        return self.judgement(goal, start, end, goal.security_from_traces, goal.security)

    def judgement(
        self, task: Any, start: Start, end: End, from_calls: Callable[..., Any], from_states: Callable[..., Any]
    ) -> bool:
        """Return what a check says of an end, asking it only where nothing is kept."""
        looks_at_calls = from_calls.__func__ not in self._defaults  # type: ignore[attr-defined]  # a bound method
        calls = digest_of([list[Plain](call) for call in end.calls]) if looks_at_calls else ""
        key = (task.ID, start.digest, end.environment.digest, end.said, calls)
        if key not in self.kept:
            if len(self.kept) >= KEPT_MAX:
                self.kept.clear()
            self.kept[key] = self._check(start, end, from_calls if looks_at_calls else None, from_states)
        return self.kept[key]

    def together(self, start: Start, end: End) -> tuple[Any, Any]:
        """Return the two environments that a check is given, at the start and at the end; what is equal is shared."""
        before = start.copy()
        return before, share(before, end.environment.copy())

    def _check(
        self, start: Start, end: End, from_calls: Callable[..., Any] | None, from_states: Callable[..., Any]
    ) -> bool:
        """Ask; a check may change what it is given, so it gets copies."""
        self.checked += 1
        before, after = self.together(start, end)
        judgement = self._asked(end, before, after, from_calls, from_states)
        if state_of(before) != start.digest:  # what the two shared was changed by the check, perhaps before it looked
            judgement = self._asked(end, start.copy(), end.environment.copy(), from_calls, from_states)
        return judgement

    def _asked(
        self, end: End, before: Any, after: Any, from_calls: Callable[..., Any] | None, from_states: Callable[..., Any]
    ) -> bool:
        try:
            if from_calls is not None:
                calls = [self.function_call(function=call.tool, args=dict(call.arguments)) for call in end.calls]
                judgement = from_calls(end.said, before, after, calls)
                if judgement is not None:
                    return bool(judgement)
            return bool(from_states(end.said, before, after))
        except _UNFORESEEN:
            return False
