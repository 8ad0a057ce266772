"""What one executed schedule told: everything a searcher learns from, and nothing it could run."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from chaosagent.effects.suspect import SuspectAnswer
from chaosagent.faults.chance_read import ChanceRead
from chaosagent.faults.dry import RecordedCrossing
from chaosagent.faults.injection import Injection, Place
from chaosagent.faults.outside_access import OutsideAccess
from chaosagent.faults.schedule import EMPTY, Schedule
from chaosagent.faults.written_file import WrittenFile
from chaosagent.trace.summary import RunSummary
from chaosagent.trace.trace import ContractVerdict
from chaosagent.trace.upstream_retry import UpstreamRetry
from chaosagent.vocabulary import Ending


class Status(enum.Enum):
    """Whether a run was executed; `ERROR` says nothing about the target."""

    OK = "ok"
    ERROR = "error"


class Fingerprinting(enum.Enum):
    """What fingerprints cover, for rule R3: none are taken, the state, or also the history that operators read."""

    OFF = "off"
    STATE = "state"
    STATE_AND_HISTORY = "state and history"


class Fingerprint(NamedTuple):
    """All that the future of a run depended on at one of its checkpoints.

    Attributes:
        position: Among everything that acted in the run.
        common: Digest of target, world, pending work, counters, streams and mediator.
        monitors: Digest of each contract's monitor, in the order of the verdicts.
    """

    position: int
    common: bytes
    monitors: tuple[bytes, ...]


class Variable(NamedTuple):
    """A variable that a function of the target may still read at a checkpoint, and that is not in its state.

    Attributes:
        name: With the function or the class that it belongs to, as `tries in ask` or `Desk.tries`.
        digest: Of its content.
    """

    name: str
    digest: bytes


class Undeclared(NamedTuple):
    """What the future of a run may have depended on at a checkpoint besides the fingerprint.

    Attributes:
        number: Of the checkpoint, among those with a fingerprint.
        place: That the checkpoint names.
        variables: By name.
    """

    number: int
    place: str
    variables: tuple[Variable, ...]


class Act(NamedTuple):
    """An injection that landed in a run.

    Attributes:
        position: When it began to act, among everything that acted: at the ask of its call or at the world's answer.
        injection: What, at the one place where it did.
    """

    position: int
    injection: Injection


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One executed schedule.

    Attributes:
        schedule: As it was asked for.
        status: Whether the run was executed.
        error: What went wrong, when it was not.
        effective: The injections that landed, each at the one place where it did.
        acts: The same in the order in which they began to act.
        digest: Of the trace.
        ending: How the run ended.
        success: Whether the objective was met; `None` when the target does not say.
        step_count: Steps of the trace.
        verdicts: Of all contracts.
        crossings: The places at which an injection could have acted, in the order of asking.
        fingerprints: At the checkpoints that the run came through; empty when the target offers none.
        asked: Digest of what was asked of interfaces whose answers are frozen; empty when nothing was.
        instability: How likely two replays differ in whether they break the contract that is searched, in [0, 1], as
            far as there were any (Instab of Eq. 9); of the search and not of the run, so not compared.
        support: The calls, each as its first attempt, that the outcome was derived from; `None` where the target does
            not declare its provenance complete.
        undeclared: Variables that checkpoints of the run do not declare; of few runs, as finding them takes time.
        spent: The largest share of one of its limits (steps, virtual time, turns) that the run has used, in [0, 1]; 1
            when it was ended by one. No part of what a run is, so not compared.
        spent_limit: The key of that limit in study files, such as `"run.steps"`; for people, neither compared nor
            stored.
        declares_effects: Some door of the run declares effects; for people, neither compared nor stored.
        suspects: Answers that look like errors and count as commits, of runs without injections; for people, neither
            compared nor stored.
        detail: One line on how the run ended, such as the exception or the limit; for people, not compared.
        crashed_at: Where in the user's code the exception came from that ended the run; for people, not compared.
        by_seed: Where the run has not read its seed: the digest that it has with each seed of the study, the one it was
            made with first, as it is the run of all of them. Empty where it has read it, or where nobody has asked. It
            follows from the run and the study, so it is not compared.
        tied: A wait, such as for an answer, and a time-out have ended at the same instant: the other order is possible.
        reads: What the target's code asked for that differs from run to run, such as the real time; only of a run that
            was watched. Neither compared nor stored.
        changed: The variables of the user's modules that have changed during the run, by name; only of a run that was
            surveyed. Neither compared nor stored.
        written: The files that the target's code opened for writing and that outlive the run; only of a run that was
            watched or among the first. Neither compared nor stored.
        accesses: What the target has opened outside of its doors. Neither compared nor stored.
        retries: Requests that clients behind doors have sent again by themselves. Neither compared nor stored.
        summary: What tables need of the run; `None` where there is no trace. It follows from the trace, so it is not
            compared.
    """

    schedule: Schedule
    status: Status = Status.OK
    error: str = ""
    effective: Schedule = EMPTY
    acts: tuple[Act, ...] = ()
    digest: str = ""
    ending: Ending = Ending.FINISHED
    success: bool | None = None
    step_count: int = 0
    verdicts: tuple[ContractVerdict, ...] = ()
    crossings: tuple[RecordedCrossing, ...] = ()
    fingerprints: tuple[Fingerprint, ...] = ()
    asked: bytes = b""
    support: tuple[Place, ...] | None = None
    undeclared: tuple[Undeclared, ...] = field(default=(), compare=False)
    detail: str = field(default="", compare=False)
    crashed_at: str = field(default="", compare=False)
    instability: float = field(default=0.0, compare=False)
    spent: float = field(default=0.0, compare=False)
    spent_limit: str = field(default="", compare=False)
    declares_effects: bool = field(default=False, compare=False)
    suspects: tuple[SuspectAnswer, ...] = field(default=(), compare=False)
    accesses: tuple[OutsideAccess, ...] = field(default=(), compare=False)
    retries: tuple[UpstreamRetry, ...] = field(default=(), compare=False)
    by_seed: tuple[tuple[int, str], ...] = field(default=(), compare=False)
    tied: bool = field(default=False, compare=False)
    reads: tuple[ChanceRead, ...] = field(default=(), compare=False)
    changed: tuple[str, ...] = field(default=(), compare=False)
    written: tuple[WrittenFile, ...] = field(default=(), compare=False)
    summary: RunSummary | None = field(default=None, compare=False)

    def with_seed(self, seed: int) -> Evaluation | None:
        """Return the run of another seed, `None` where that has to be made."""
        digest = dict(self.by_seed).get(seed)
        return None if digest is None else replace(self, digest=digest, by_seed=self.by_seed[:1])

    def is_taken_over(self, seed: int) -> bool:
        """Whether the run of a seed was made with another one, as no seed changes it."""
        return bool(self.by_seed) and self.by_seed[0][0] != seed

    @property
    def acted(self) -> int:
        """Position at which the last injection that landed began to act, -1 when none landed."""
        return self.acts[-1].position if self.acts else -1

    @property
    def final_fingerprints(self) -> tuple[Fingerprint, ...]:
        """The fingerprints behind the last action of an injection: from each of them on the run went undisturbed."""
        return tuple(one for one in self.fingerprints if one.position >= self.acted)

    def verdict(self, contract: str) -> ContractVerdict | None:
        """Return the verdict of one contract, `None` when it was not checked."""
        for verdict in self.verdicts:
            if verdict.contract == contract:
                return verdict
        return None
