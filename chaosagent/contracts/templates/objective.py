"""`objective`: the task was done (Y of the specification; R(B) is searched against it).

Not one of the default contracts: a target that stops safely under a fault has not met its objective and did nothing
wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from chaosagent.contracts.contract import HOLDS, End, Monitor, Reading, Setting, violated
from chaosagent.contracts.monitors import AtEnd
from chaosagent.contracts.settings import ContractSettings
from chaosagent.trace.reached_limit import reached_limit
from chaosagent.vocabulary import Ending, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective(ContractSettings):
    """A run whose outcome is not a success is a violation.

    A run that finished without anybody saying whether that was a success is `UNKNOWN`: the target has no objective.
    A run that did not finish, or not within its limits, was no success.
    """

    outcome_only: ClassVar[bool] = True
    judges_cut_off: ClassVar[bool] = True

    id: str = "objective"

    def monitor(self, setting: Setting) -> Monitor:  # noqa: ARG002  # the protocol's
        """Return a fresh check for one run."""
        return AtEnd(_judge)


def _judge(end: End) -> Reading:
    if end.ending is Ending.HUNG:
        return Reading(Verdict.UNKNOWN, 0.0, "the limit of real time has ended the run, which is no evidence")
    if end.ending is not Ending.FINISHED:
        return violated(f"the objective was not met: the run ended with {end.ending.value}")
    if end.exceeded:
        return violated(f"the objective was not met within the limit of {reached_limit(end.exceeded)}")
    success = end.outcome.success
    if success is True:
        return HOLDS
    if success is None:
        return Reading(Verdict.UNKNOWN, 0.0, "nobody says whether the outcome is a success")
    return violated("the objective was not met")
