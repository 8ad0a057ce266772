"""What a search keeps of one run that it had made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

from chaosagent.canonical import DIGEST_BYTES
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.schedule import Schedule
from chaosagent.study.searcher import Purpose


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
