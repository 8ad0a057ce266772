"""`no-crash`: no exception leaves the target.

An exception of the target under a schedule is a verdict like any other, never an error of the harness.
"""

from __future__ import annotations

from dataclasses import dataclass

from chaosagent.contracts.contract import HOLDS, End, Monitor, Reading, Setting, violated
from chaosagent.contracts.monitors import AtEnd
from chaosagent.contracts.settings import ContractSettings
from chaosagent.vocabulary import Ending


@dataclass(frozen=True, slots=True, kw_only=True)
class NoCrash(ContractSettings):
    """A run that ends with an exception of the target is a violation; its text is the reason."""

    id: str = "no-crash"

    def monitor(self, setting: Setting) -> Monitor:  # noqa: ARG002  # the protocol's
        """Return a fresh check for one run."""
        return AtEnd(_judge)


def _judge(end: End) -> Reading:
    if end.ending is Ending.CRASHED:
        return violated(end.detail or "the target ended with an exception")
    return HOLDS
