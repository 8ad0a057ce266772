"""A counterexample as Python code gets it: the replay record, where it is stored, and its story."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from chaosagent.canonical import Plain
from chaosagent.faults.schedule import Schedule
from chaosagent.replays.record import ReplayRecord
from chaosagent.report.page import Page, page_html
from chaosagent.report.printable import printable
from chaosagent.report.story import story_of, violation_of
from chaosagent.study.counterexample import Signature
from chaosagent.targets.target import Target
from chaosagent.trace.trace import Trace

REPR_MAX = 300


@dataclass(frozen=True, slots=True, repr=False)
class Counterexample:
    """A minimal schedule that breaks a contract, with the run under it.

    `print(counterexample)` tells its story, as `chaosagent show` does.

    Attributes:
        record: All that is needed to run it again.
        path: Of its file; `None` where none is kept.
        searched_target: The target that was handed to `chaosagent.search` in this process, for `chaosagent.replay`;
            `None` where the target was named, or after pickling.
    """

    record: ReplayRecord
    path: Path | None = None
    searched_target: Target | None = field(default=None, compare=False)

    @property
    def id(self) -> str:
        """Short and stable: the same counterexample of the same target has the same one."""
        return self.record.id

    @property
    def task(self) -> str:
        """Id of the task."""
        return self.record.task.id

    @property
    def seed(self) -> int:
        """Of the run."""
        return self.record.seed

    @property
    def contract(self) -> str:
        """Id of the violated contract."""
        return self.record.contract

    @property
    def schedule(self) -> Schedule:
        """The injections, all of which land; `str()` gives its text form."""
        return self.record.schedule

    @property
    def cost(self) -> float:
        """Of the schedule."""
        return self.record.cost

    @property
    def signature(self) -> Signature:
        """What kind of failure it is; equal signatures, equal kinds of failure."""
        return self.record.signature

    @property
    def certified(self) -> bool:
        """Whether it is proved that nothing cheaper breaks the contract in the declared space."""
        return self.record.proof.certified and not self.record.stochastic

    @property
    def proof(self) -> str:
        """The certificate in words."""
        return self.record.proof.text

    @property
    def trace(self) -> Trace:
        """Every step of the run, its verdicts and its outcome."""
        return self.record.trace

    @property
    def reason(self) -> str:
        """How the contract is broken, in one line; the target's words may be in it."""
        violation = violation_of(self.record)
        return "" if violation is None else violation.reason

    @property
    def step(self) -> int | None:
        """Index of the step that breaks the contract; `None` where only the end of the run shows it."""
        violation = violation_of(self.record)
        return None if violation is None or violation.step >= len(self.trace.steps) else violation.step

    def to_row(self) -> dict[str, Plain]:
        """Return it as plain data, without its trace."""
        return {
            "id": self.id,
            "task": self.task,
            "seed": self.seed,
            "contract": self.contract,
            "schedule": str(self.schedule),
            "faults": len(self.schedule),
            "cost": self.cost,
            "signature": str(self.signature),
            "certified": self.certified,
            "step": self.step,
            "reason": self.reason,
            "proof": self.proof,
            "path": None if self.path is None else str(self.path),
        }

    def __reduce__(self) -> tuple[object, ...]:
        """Travel without the target, which may not be able to."""
        return Counterexample, (self.record, self.path)

    def __rich__(self) -> Page:
        return story_of(self.record, self.path)

    def __str__(self) -> str:
        return self.__rich__().text().rstrip("\n")

    def __repr__(self) -> str:
        text = f"{self.id}: {self.contract} in {self.task}, cost {self.cost:g}, {self.schedule}"
        return f"<Counterexample {printable(text, characters_max=REPR_MAX)}>"

    def _repr_html_(self) -> str:
        return page_html(self.__rich__())
