"""The trace of one run, and its digest."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import NamedTuple

from chaosagent.canonical import DIGEST_BYTES, pack_plain, plain
from chaosagent.trace.step import Landed, Link, Step
from chaosagent.trace.upstream_retry import UpstreamRetry
from chaosagent.vocabulary import Effect, Ending, Outcome, Verdict


class Violation(NamedTuple):
    """Where a contract was first broken.

    Attributes:
        step: Index of the step, or the number of steps when only the end of the run showed it.
        agent: Who acted at that step.
        reason: One line for people.
    """

    step: int
    agent: str
    reason: str


class ContractVerdict(NamedTuple):
    """What one contract says of one trace.

    Attributes:
        contract: Its id.
        verdict: Whether it holds.
        margin: In [-1, 1]: below 0 violated, towards 0 close to it.
        violation: Where it was first broken, if it was.
        unfair: The contract is violated, but what it `requires` was not given: the schedule made the task impossible.
    """

    contract: str
    verdict: Verdict
    margin: float
    violation: Violation | None = None
    unfair: bool = False


BEYOND = "beyond the limit of "
"""How the detail of an ending names the limit that the run went beyond."""


def exceeded_in(ending_detail: str) -> str:
    """Return the limit that a run went beyond, from the detail of its ending; empty if it did not."""
    return ending_detail.partition(BEYOND)[2]


@dataclass(frozen=True, slots=True)
class Trace:
    """A Message-Action Trace: immutable, ordered.

    Attributes:
        task_id: Of the task that was run.
        config_digest: Of the configuration.
        seed: Of the run.
        steps: In the order in which the agents had their answers.
        ending: How the run ended.
        ending_detail: One line on it, such as the exception, and the limit that the run went beyond.
        outcome: What the target handed back; an empty one when it did not come to that.
        verdicts: One for each contract, in the contracts' order.
        crashed_at: Where in the user's code the exception came from that ended the run, `"agent.py:117 in pay"`. It is
            no part of the digest, nor of comparisons: an edit that shifts lines changes nothing that happened.
        links: Provenance that the target declared after the last step; a step has what was declared before it.
        retries: Requests that a client behind a door has sent again by itself. No part of the digest, nor of
            comparisons: an agent sees nothing of them.
    """

    task_id: str
    config_digest: str
    seed: int
    steps: tuple[Step, ...]
    ending: Ending
    ending_detail: str
    outcome: Outcome
    verdicts: tuple[ContractVerdict, ...]
    crashed_at: str = field(default="", compare=False)
    links: tuple[Link, ...] = ()
    retries: tuple[UpstreamRetry, ...] = field(default=(), compare=False)

    @property
    def digest(self) -> str:
        """The digest of everything that happened: equal traces, equal digests, in every process."""
        return self.digests_with([self.seed])[0]

    def digests_with(self, seeds: Iterable[int]) -> list[str]:
        """Return the digests of the same trace with each of some seeds; the steps, most of the work, are read once."""
        outcome = self.outcome
        end = (
            self.ending._value_,
            self.ending_detail,
            outcome.message,
            outcome.success,
            [plain(claim) for claim in outcome.claims] if outcome.claims else (),
            plain(outcome.state),
            outcome.refused,
            *([self.links] if self.links else []),
        )
        steps = blake2b(pack_plain([step.canonical() for step in self.steps]), digest_size=DIGEST_BYTES)
        verdicts = pack_plain([(verdict.contract, int(verdict.verdict), verdict.unfair) for verdict in self.verdicts])
        digests = []
        for seed in seeds:
            hashed = steps.copy()
            hashed.update(pack_plain((self.task_id, self.config_digest, seed, *end)))
            hashed.update(verdicts)
            digests.append(hashed.hexdigest())
        return digests

    def by_seed(self, seeds: Iterable[int]) -> tuple[tuple[int, str], ...]:
        """Return its own seed and some others, each with the digest that the trace has with it."""
        listed = (self.seed, *seeds)
        return tuple(zip(listed, self.digests_with(listed), strict=True))

    @property
    def effects(self) -> tuple[Effect, ...]:
        """The ledger: what was committed to the world, in order, whatever the agents were told."""
        return tuple(effect for step in self.steps for effect in step.effects)

    @property
    def landed(self) -> tuple[Landed, ...]:
        """What the injections did, in order."""
        return tuple(step.landed for step in self.steps if step.landed is not None)

    @property
    def exceeded(self) -> str:
        """The limit that the run went beyond before it came to its end, such as `"2000 steps"`; empty if it did not."""
        return exceeded_in(self.ending_detail)

    @property
    def own_detail(self) -> str:
        """The one line on how the run ended without the limit that it went beyond."""
        exceeded = self.exceeded
        detail = self.ending_detail
        return detail.removesuffix(f"{BEYOND}{exceeded}").removesuffix("; ") if exceeded else detail

    def verdict(self, contract: str) -> ContractVerdict:
        """Return the verdict of one contract; `KeyError` when it was not checked."""
        for verdict in self.verdicts:
            if verdict.contract == contract:
                return verdict
        raise KeyError(contract)
