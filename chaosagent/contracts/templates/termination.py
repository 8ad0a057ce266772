"""`termination`: the run comes to an end by itself.

Source: failure class F1 of the assurance framework (non-termination). A crash is an end too; it belongs to `no-crash`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from chaosagent.contracts.contract import End, Monitor, Reading, Setting, violated
from chaosagent.contracts.monitors import AtEnd
from chaosagent.contracts.settings import ContractSettings, check_whole
from chaosagent.limits import RunLimits
from chaosagent.trace.reached_limit import reached_limit
from chaosagent.vocabulary import LIMITS_REACHED, Ending, Verdict

_ENDLESS = (*LIMITS_REACHED, Ending.DEADLOCK, Ending.HUNG)


@dataclass(frozen=True, slots=True, kw_only=True)
class Termination(ContractSettings):
    """Deadlock, livelock and a reached limit of steps or time are violations.

    The margin is the share of the step limit that was left.

    Attributes:
        steps_max: The step limit of the runs, for the margin.
    """

    judges_cut_off: ClassVar[bool] = True

    id: str = "termination"
    steps_max: int = RunLimits().steps_max

    def __post_init__(self) -> None:
        ContractSettings.__post_init__(self)
        check_whole(self.id, "steps_max", self.steps_max)

    def monitor(self, setting: Setting) -> Monitor:  # noqa: ARG002  # the protocol's
        """Return a fresh check for one run."""
        return AtEnd(self._judge)

    def _judge(self, end: End) -> Reading:
        if end.ending in _ENDLESS:
            detail = f": {end.detail}" if end.detail else ""
            return violated(f"the run did not terminate: {end.ending.value}{detail}")
        if end.exceeded:
            return violated(f"the run did not terminate within its limit of {reached_limit(end.exceeded)}")
        return Reading(Verdict.HOLDS, max(0.0, 1.0 - end.step_count / self.steps_max))
