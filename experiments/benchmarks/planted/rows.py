"""The rows that a measurement can have: the families, and the random agents."""

from __future__ import annotations

from chaosagent.errors import UnknownNameError
from chaosagent.experiments.benchmarks.planted.catalogue import FAMILIES
from chaosagent.experiments.benchmarks.planted.family import Family
from chaosagent.experiments.benchmarks.planted.random_agents import GROUPS, agent_family, known_agents

AGENT = "agent-"


def family_of(name: str) -> Family:
    """Return a family, or a random agent, by name.

    Raises:
        UnknownNameError: There is none.
    """
    if name.startswith(AGENT) and name.removeprefix(AGENT).isdecimal():
        return agent_family(int(name.removeprefix(AGENT)))
    if name not in FAMILIES:
        raise UnknownNameError("family", name, [*FAMILIES, *GROUPS])
    return FAMILIES[name]


def expanded(name: str) -> tuple[str, ...]:
    """Return the families that a name on the command line means: one, or a group of random agents."""
    if name in GROUPS:
        return tuple(f"{AGENT}{number}" for number in known_agents(name))
    return (family_of(name).name,)


def row_of(name: str) -> str:
    """Return the line of the table to which the measurements of a family belong."""
    if not name.startswith(AGENT):
        return name
    number = int(name.removeprefix(AGENT))
    return next((group for group in GROUPS if number in known_agents(group)), name)
