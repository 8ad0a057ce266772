"""A trial: what a search keeps of one run, and why a trial was inconclusive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

from chaosagent.canonical import DIGEST_BYTES
from chaosagent.contracts.contract import Contract
from chaosagent.contracts.templates.objective import Objective
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.study.searcher import Purpose
from chaosagent.vocabulary import CUT_OFF, Ending


@dataclass(frozen=True, slots=True)
class Trial:
    """One schedule run once for one search.

    Attributes:
        number: Place among the trials of the search, from 0.
        schedule: What was injected; where a policy chose, what it chose.
        purpose: Why.
        evaluation: What it told.
    """

    number: int
    schedule: Schedule
    purpose: Purpose
    evaluation: Evaluation

    def hashed(self, search: Sequence[str]) -> int:
        """Return a hash of the trial as a number. The study adds these up, so that their order does not matter.

        Args:
            search: Its task, seed and contract.
        """
        line = "\0".join([*search, str(self.schedule), self.evaluation.digest])
        return int.from_bytes(blake2b(line.encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES).digest(), "big")


def unknown_reason(evaluation: Evaluation, contract: Contract) -> str:
    """Say under what a trial told nothing of the contract, and why, where that is known."""
    under = f"under {evaluation.schedule}" if evaluation.schedule != EMPTY else "without injections"
    if evaluation.ending in CUT_OFF:
        return f"{under}: {evaluation.detail or evaluation.ending.value}"
    if evaluation.ending is not Ending.FINISHED:
        return f"{under}: the run ended with {evaluation.ending.value} and has no outcome to judge"
    objective = isinstance(contract, Objective)
    return f"{under}: nobody says whether its outcome is a success" if objective else under
