"""The state that the model and the tools of one agent share during a run of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from chaosagent.adapters.doors import FrameworkDoors
from chaosagent.targets.target import Run


@dataclass(slots=True, eq=False)
class AgentRun:
    """The doors of one run of one agent, and the artifacts from which its answers were derived.

    Attributes:
        run: The run of the target.
        doors: Of that run.
        handoffs: Tools that hand on to another agent.
        agent: The agent's name.
        is_inside: A tool of another agent asks; an exact replay answers in its place, so that it must not add links.
        asked_in: The artifacts of the answers in which tools were called, by the ids of the calls.
        told: The artifacts of what the agent was told since its last request.
    """

    run: Run
    doors: FrameworkDoors
    handoffs: frozenset[str]
    agent: str
    is_inside: bool
    asked_in: dict[str, str] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)
