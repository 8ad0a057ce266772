"""Contracts and monitors: a property of traces, and the running check of one on a growing trace."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, runtime_checkable

from chaosagent.canonical import Plain
from chaosagent.registry import Registry
from chaosagent.trace.step import Step
from chaosagent.vocabulary import Effect, Ending, Outcome, Severity, Task, Verdict


class Nominal(NamedTuple):
    """What the run without injections did, for contracts that compare with it.

    Attributes:
        effects: Its ledger.
        outcome: What it handed back.
    """

    effects: tuple[Effect, ...] = ()
    outcome: Outcome = Outcome()


@dataclass(frozen=True, slots=True)
class Setting:
    """What a monitor may know beforehand.

    Attributes:
        task: The task, with its labels.
        nominal: What the run without injections did; `None` while that run itself is made. A contract that compares
            with it holds then by definition.
        settings: Of the configuration.
    """

    task: Task
    nominal: Nominal | None = None
    settings: Mapping[str, Plain] = field(default_factory=dict)


class OutcomeMissingError(Exception):
    """A contract has looked at something that a run did not come to; the contract's verdict on it is `UNKNOWN`."""


class MissingOutcome(Outcome):
    """Stands for the outcome of a run that handed none back.

    It was no success, and it has the state of the world where the target declares that (`Run.state`). Whoever looks at
    anything else of it raises an `OutcomeMissingError`.
    """

    __slots__ = ("_asked", "_ending")

    def __init__(self, ending: Ending, state: Plain) -> None:
        super().__init__(success=False, state=state)
        object.__setattr__(self, "_ending", ending)
        object.__setattr__(self, "_asked", "")

    def __getattribute__(self, name: str) -> object:
        if name in _MISSING or (name == "state" and super().__getattribute__("state") is None):
            ending: Ending = super().__getattribute__("_ending")
            remedy = " Declare it with run.state(...)." if name == "state" else ""
            text = f"the run ended with {ending.value} and has no outcome, so its {name} is not known.{remedy}"
            object.__setattr__(self, "_asked", text)
            raise OutcomeMissingError(text)
        return super().__getattribute__(name)

    def take_asked(self) -> str:
        """Return what an `OutcomeMissingError` has said since the last call, whoever caught it; empty for none."""
        asked: str = super().__getattribute__("_asked")
        object.__setattr__(self, "_asked", "")
        return asked

    def __eq__(self, other: object) -> bool:
        """Say nothing: nobody knows whether an outcome that is not there is equal to another."""
        return self is other or bool(self.message)  # which raises

    __hash__ = None  # type: ignore[assignment]  # of the same reason


_MISSING = frozenset({"message", "claims", "refused"})


class End(NamedTuple):
    """How a run ended; `end_of` makes it.

    Attributes:
        ending: Finished, crashed, deadlock, ...
        detail: One line on it, such as the exception.
        outcome: What the target handed back; a `MissingOutcome` when it did not come to that.
        step_count: Steps of the trace.
        exceeded: The limit that the run went beyond before it came to its end, such as `"2000 steps"`; empty when it
            kept its limits.
    """

    ending: Ending
    detail: str
    outcome: Outcome
    step_count: int
    exceeded: str = ""

    @property
    def has_outcome(self) -> bool:
        """Whether the target handed back an outcome."""
        return self.ending is Ending.FINISHED


def end_of(ending: Ending, detail: str, outcome: Outcome, step_count: int, exceeded: str = "") -> End:
    """Return what contracts are shown of the end of a run."""
    shown = outcome if ending is Ending.FINISHED else MissingOutcome(ending, outcome.state)
    return End(ending, detail, shown, step_count, exceeded)


class Reading(NamedTuple):
    """What a monitor says at one moment.

    Attributes:
        verdict: Whether the contract holds so far.
        margin: In [-1, 1]; 1 far from a violation, towards 0 close to one, below 0 violated.
        reason: One line for people, when it is violated or unknown.
    """

    verdict: Verdict
    margin: float = 1.0
    reason: str = ""


HOLDS = Reading(Verdict.HOLDS)


def violated(reason: str, margin: float = -1.0) -> Reading:
    """Return the reading of a broken contract."""
    return Reading(Verdict.VIOLATED, margin, reason)


class Looks(enum.Enum):
    """Which steps a monitor looks at."""

    EVERY_STEP = "every step"
    EFFECTS = "steps with effects"
    NEVER = "no step"


class Monitor(Protocol):
    """The running check of one contract on one trace; constant work per step.

    A monitor that need not see every step also has `looks: ClassVar[Looks]`; it is not asked about the others.
    """

    def step(self, step: Step) -> Reading | None:
        """Look at the next step; return a reading when it changed, else `None`. A violation is final."""
        ...

    def end(self, end: End) -> Reading:
        """Look at the end of the run and return the last reading.

        Not called after a violation, nor for a run that was cut off, unless the contract says that it judges those.
        """
        ...

    def state(self) -> Plain:
        """Return all that its future readings depend on, for rule R3."""
        ...


@runtime_checkable
class Contract(Protocol):
    """A property of traces.

    Attributes:
        id: Unique in a study, such as `"at-most-once"`.
        severity: Only a violated hard contract makes a counterexample.
        weight: The α of the weighted step score (1.3 of the specification).
        requires: A contract that must hold for a violation to count: if it is violated too, the schedule made the task
            impossible and is `unfair`.
    """

    @property
    def id(self) -> str: ...
    @property
    def severity(self) -> Severity: ...
    @property
    def weight(self) -> float: ...
    @property
    def requires(self) -> Contract | None: ...

    def monitor(self, setting: Setting) -> Monitor:
        """Return a fresh check for one run."""
        ...


def sees_faults(contract: Contract) -> bool:
    """Whether a contract, or what it requires, looks at the injections of a trace, as only containment does.

    Such a contract has `sees_faults: ClassVar[bool] = True`. Two operators with the same outcome are different to it.
    """
    required = contract.requires
    return bool(getattr(contract, "sees_faults", False)) or (required is not None and sees_faults(required))


def judges_cut_off(contract: Contract) -> bool:
    """Whether a contract judges runs that were cut off by a limit; for the others its verdict on them is `UNKNOWN`.

    Such a contract has `judges_cut_off: ClassVar[bool] = True`.
    """
    return bool(getattr(contract, "judges_cut_off", False))


def needs_nominal(contract: Contract) -> bool:
    """Whether a contract, or what it requires, compares with the run without injections and says nothing without it.

    Such a contract has `needs_nominal: ClassVar[bool] = True`, or a property of that name.
    """
    required = contract.requires
    return bool(getattr(contract, "needs_nominal", False)) or (required is not None and needs_nominal(required))


def judges_outcome_only(contract: Contract) -> bool:
    """Whether a contract, and what it requires, looks at the outcome of a run and at nothing else of it.

    Such a contract has `outcome_only: ClassVar[bool] = True`. All that matters to it is what the outcome was derived
    from.
    """
    required = contract.requires
    return bool(getattr(contract, "outcome_only", False)) and (required is None or judges_outcome_only(required))


class ContractFactory(Protocol):
    """Makes a contract from the settings of a study file; what the registry holds."""

    def __call__(self, **settings: Plain) -> Contract: ...


CONTRACTS: Registry[ContractFactory] = Registry("contract", "chaosagent.contracts", "chaosagent.contracts.catalogue")
