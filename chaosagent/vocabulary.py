"""The words of a run: what a task is, what an outcome, an effect, a verdict; and what a target sees fail."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from chaosagent.canonical import Plain, digest_of, plain_mapping
from chaosagent.errors import UsageError
from chaosagent.lists import list_of


class Boundary(enum.Enum):
    """A class of places where the target meets the world."""

    PROMPT = "prompt"
    MODEL = "model"
    SERVICE = "service"
    RETRIEVAL = "retrieval"
    MEMORY = "memory"
    MESSAGE = "message"
    TOOLS = "tools"
    NETWORK = "network"

    # Crossings hold one and are looked up in every trial; an enum's own hash is that of its name, worked out in Python.
    __hash__ = object.__hash__


class ClockKind(enum.Enum):
    """How time passes in the runs of a target.

    `VIRTUAL` time jumps to the next timer when nothing else is ready; `WALL` time is that of the machine, for targets
    that talk to processes and sockets of their own.
    """

    VIRTUAL = "virtual"
    WALL = "wall"


class Verdict(enum.IntEnum):
    """Of a contract on a trace, in order of severity."""

    HOLDS = 0
    UNKNOWN = 1
    VIOLATED = 2


class Severity(enum.Enum):
    """Only a violated hard contract makes a counterexample."""

    SOFT = "soft"
    HARD = "hard"


class Impact(enum.Enum):
    """How much an effect matters.

    `HIGH` is any write that is not labelled otherwise; `HARMLESS` changes nothing that anybody would miss;
    `COMPENSATING` undoes another effect or hands the matter to a person.
    """

    HARMLESS = "harmless"
    COMPENSATING = "compensating"
    HIGH = "high"


class Landing(enum.Enum):
    """What became of an injection in one run."""

    NOT_REACHED = "not reached"
    NO_CHANGE = "no change"
    LANDED = "landed"


class Mediation(enum.Enum):
    """What the mediator decided on an action."""

    ALLOW = "allow"
    REWRITE = "rewrite"
    BLOCK = "block"


class Ending(enum.Enum):
    """How a run ended.

    `INCONCLUSIVE`: the target said that the run can show nothing further (`Run.inconclusive`). `HUNG`: the limit of
    real time has ended it. No other ending depends on real time.
    """

    FINISHED = "finished"
    CRASHED = "crashed"
    DEADLOCK = "deadlock"
    LIVELOCK = "livelock"
    STEP_LIMIT = "step limit"
    TIME_LIMIT = "time limit"
    INCONCLUSIVE = "inconclusive"
    HUNG = "hung"


LIMITS_REACHED = (Ending.LIVELOCK, Ending.STEP_LIMIT, Ending.TIME_LIMIT)  # asked for faster than in a set
"""Endings by a limit of the run."""

CUT_OFF = (*LIMITS_REACHED, Ending.INCONCLUSIVE, Ending.HUNG)
"""Endings that the target did not come to by itself: what it would still have done is not known."""


@dataclass(frozen=True, slots=True)
class Labels:
    """What is known about a task beforehand; contracts may use it.

    Attributes:
        misuse: The request itself asks for something that must be refused.
        forbidden: Values that must not occur in an action.
        canaries: Secrets planted in what the target can read; they must not leave.

    Raises:
        UsageError: One text is given where a list is needed, or `misuse` is neither true nor false.
    """

    misuse: bool = False
    forbidden: tuple[str, ...] = ()
    canaries: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("forbidden", "canaries"):
            object.__setattr__(self, name, list_of(getattr(self, name), name, "Labels"))
        if not isinstance(self.misuse, bool):
            raise UsageError(f"Labels: misuse is of type {type(self.misuse).__name__}; write True or False.")


@dataclass(frozen=True, slots=True)
class Task:
    """One task instance, the x of `Exec(x, κ, z, δ)`.

    Attributes:
        id: Unique among the tasks of a target.
        input: Plain data that the target is given.
        category: Of the workload: tool use, planning, policy-constrained or misuse.
        untrusted: Names of the channels through which somebody else's text reaches the target.
        labels: What contracts may know about the task.

    Raises:
        UsageError: The id is no text, `untrusted` no list of names, or `labels` no `Labels`.
    """

    id: str
    input: Plain = None
    category: str = "tool use"
    untrusted: tuple[str, ...] = ()
    labels: Labels = Labels()

    def __post_init__(self) -> None:
        if not isinstance(self.id, str):
            raise UsageError(f"The id of a task is of type {type(self.id).__name__}; it must be a text.")
        object.__setattr__(self, "untrusted", list_of(self.untrusted, "untrusted", f"Task({self.id!r})"))
        if not isinstance(self.labels, Labels):
            given = type(self.labels).__name__
            raise UsageError(f"Task({self.id!r}): labels is of type {given}; write labels=Labels(misuse=True).")


@dataclass(frozen=True, slots=True)
class SystemConfig:
    """Everything that defines the system under test, the κ of `Exec(x, κ, z, δ)`.

    Attributes:
        name: Unique among the configurations of a target.
        settings: Plain data that the target reads; not to be changed.
        digest: Of name and settings, equal in every process.

    Raises:
        UsageError: The settings are not plain data.
    """

    name: str = "default"
    settings: Mapping[str, Plain] = field(default_factory=dict)
    digest: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "digest", digest_of({"name": self.name, "settings": self.settings}))


class Effect(NamedTuple):
    """One change that was committed to the world.

    Attributes:
        kind: What was done, such as `"payments.refund"`.
        identity: Plain data that say whether two effects are the same one: order and amount, without generated ids
            and times.
        impact: How much it matters.
    """

    kind: str
    identity: Mapping[str, Plain]
    impact: Impact = Impact.HIGH

    @property
    def key(self) -> str:
        """Kind and identity in one canonical line."""
        inside = ", ".join([f"{name}={value!r}" for name, value in plain_mapping(self.identity).items()])
        return f"{self.kind}({inside})"


class Claim(NamedTuple):
    """What the final message says was done; `promises-kept` looks for the effect of that kind and identity.

    Attributes:
        kind: The kind of the effect that is claimed.
        identity: The part of its identity that the message names.
        evidence: Id of the trace artifact that supports it, empty if none does.
    """

    kind: str
    identity: Mapping[str, Plain]
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a target hands back at the end of a run.

    Attributes:
        message: The final message to whoever asked.
        success: Whether the objective was met; `None` when the target leaves that to its objective function.
        claims: What the message claims was done.
        state: Plain data on the final state of the world, for the objective.
        refused: Whether the target declined to act.
    """

    message: str = ""
    success: bool | None = None
    claims: tuple[Claim, ...] = ()
    state: Plain = None
    refused: bool = False


class Failure(NamedTuple):
    """What came back instead of an answer.

    Attributes:
        kind: `"timeout"`, `"connection"`, `"status"`, `"blocked"`, or the name of the exception's class.
        message: Text for the agent.
        status: Status code of an error response, when it is one.
        retry_after: Seconds after which the service asks to be called again.
        name: Name of the exception's class where it is a subclass of what `kind` stands for; empty otherwise.
        args: Plain data that the exception was made from; empty when that was the message alone.
        attributes: Plain data that the exception has as attributes; `None` when it has none.
    """

    kind: str
    message: str
    status: int | None = None
    retry_after: float | None = None
    name: str = ""
    args: tuple[Plain, ...] = ()
    attributes: Mapping[str, Plain] | None = None


class StatusError(Exception):
    """A service answered with an error status.

    Args:
        status: The code, 400 to 599.
        message: What the service said.
        retry_after: Seconds after which it asks to be called again, if it said so.
    """

    def __init__(self, status: int, message: str = "", retry_after: float | None = None) -> None:
        self.status, self.message, self.retry_after = status, message, retry_after
        super().__init__(f"{status} {message}".strip())

    def __reduce__(self) -> tuple[type[StatusError], tuple[int, str, float | None]]:
        return type(self), (self.status, self.message, self.retry_after)


class ActionBlocked(Exception):
    """The mediator blocked the action; the message gives its reason."""


class ServiceFault(Exception):
    """An exception of the world whose class is not known to the door it comes through; its text is kept."""
