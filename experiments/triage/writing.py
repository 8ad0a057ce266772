"""How the policy writes: turns of a model, e-mails, sums of money."""

from __future__ import annotations

from chaosagent.canonical import Plain
from chaosagent.experiments.triage.claims import Step


def call(content: str, *calls: Step) -> dict[str, Plain]:
    """Return a turn that calls tools, in that order."""
    return {
        "content": content,
        "tool_calls": [{"name": name, "arguments": arguments} for name, arguments in calls],
    }


def money(cents: int) -> str:
    """Return an amount as people write it."""
    return f"{cents // 100}.{cents % 100:02d}"
