"""The state that the model and the tools of one agent share during a run of it."""

from __future__ import annotations

from dataclasses import dataclass

from chaosagent.adapters.core.crossings import Crossings


@dataclass(slots=True, eq=False)
class AgentRun:
    """The crossings of one run of one agent, and what identifies them.

    Attributes:
        crossings: Of this run of the agent.
        handoffs: Tools that hand on to another agent.
        agent: The agent's name.
    """

    crossings: Crossings
    handoffs: frozenset[str]
    agent: str
