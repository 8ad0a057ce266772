"""Writes the trace of a run: makes steps, shows them to the monitors, and stores them without secrets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, cast

from chaosagent.canonical import Plain, plain
from chaosagent.errors import ChaosAgentError
from chaosagent.execution.failures import RunEnded
from chaosagent.execution.run.doors import LiveDoor
from chaosagent.execution.run.monitors import Monitors
from chaosagent.faults.injection import Place
from chaosagent.limits import RunLimits
from chaosagent.trace.redact import Redactor
from chaosagent.trace.step import Decision, Landed, Link, Step, StepKind
from chaosagent.vocabulary import Effect, Failure


class RecordedPassage(Protocol):
    """A passage as the trace describes it; see `chaosagent.execution.run.passage.Passage`."""

    place: Place
    door: LiveDoor
    role: str
    operation: str
    request_bytes: bytes
    decision: Decision
    effects: tuple[Effect, ...]
    asked_at: float
    inside: Place | str


class Recorder:
    """The steps of one run.

    Args:
        watch: The monitors.
        limits: Of the run.
        redactor: Removes secrets; `None` when the target declares none.

    Attributes:
        steps: So far.
        links: Provenance declared since the last step.
        closed: No further crossing may begin: the limit on steps is reached, or the run is worthless.
        inconclusive: Why the run can show nothing further, as the target or the run says; empty while it can.
        refused: The first thing that makes the run worthless: the target broke its protocol, a plug-in failed.
            Whatever the target does with the exception, the run ends with this error.
    """

    def __init__(self, watch: Monitors, limits: RunLimits, redactor: Redactor | None) -> None:
        self.watch, self.limits, self.redactor = watch, limits, redactor
        self.steps: list[Step] = []
        self.links: list[Link] = []
        self._steps_max = limits.steps_max
        self._last_answered: dict[str, Place] = {}
        self.refused: ChaosAgentError | None = None
        self.inconclusive = ""
        self.closed = self._steps_max <= 0

    def link(self, link: Link) -> None:
        """Take provenance that was declared, without secrets."""
        self.links.append(link if self.redactor is None else Link(*map(self.redactor.text, link)))

    @property
    def full(self) -> bool:
        """Whether the limit on steps is reached."""
        return len(self.steps) >= self._steps_max

    @property
    def artifacts(self) -> dict[str, str]:
        """Per agent, the id of the last answer that was delivered to it."""
        return {agent: str(place._replace(attempt=0)) for agent, place in self._last_answered.items()}

    def refuse(self, error: ChaosAgentError) -> ChaosAgentError:
        """Keep what makes the run worthless, and return it to be raised."""
        self.refused, self.closed = self.refused or error, True
        return error

    def conclude(self, reason: str) -> None:
        """Let the run end here, as it can show nothing further; what it has shown counts."""
        self.inconclusive, self.closed = self.inconclusive or reason or "no reason given", True

    def append(
        self,
        passage: RecordedPassage,
        kind: StepKind,
        now: float,
        *,
        told: bytes = b"",
        failure: Failure | None = None,
        landed: Landed | None = None,
        value: Plain = None,
    ) -> None:
        """Append the step of a passage.

        Args:
            passage: What happened.
            kind: What the step tells of.
            now: Virtual seconds.
            told: Canonical bytes of what the agent is told.
            failure: What it is given instead of an answer.
            landed: What an injection did.
            value: What it is told, as plain data.

        Raises:
            RunEnded: The limit on steps is reached.
            PluginError: A contract failed.
        """
        index = len(self.steps)
        if index >= self._steps_max:
            raise RunEnded(f"{self._steps_max} steps")
        place, door = passage.place, passage.door
        step = Step()
        step.index, step.kind, step.role = index, kind, passage.role
        if kind is StepKind.NOTE:
            step.boundary, step.egress = None, False
        else:
            step.boundary, step.egress = door.boundary, door.options.egress
        step.interface, step.agent, step.occurrence, step.attempt = place
        step.operation, step.request, step.response = passage.operation, passage.request_bytes, told
        step.failure, step.landed, step.decision = failure, landed, passage.decision
        step.asked_at, step.arrived_at = passage.asked_at, now
        step.effects, step.links = passage.effects, ()
        step.inside = str(passage.inside) if passage.inside else ""
        if self.links:
            step.links = tuple(self.links)
            self.links.clear()
        if step.effects and self.redactor is not None:
            step.effects = redacted_effects(step.effects, self.redactor)
        step.raw = False
        if self.watch.of_effects if step.effects else self.watch.of_every_step:
            step.show(None, value)
            self.watch.step(step)
            step.seal()
        if self.redactor is not None:
            _redact(step, self.redactor)
        self.steps.append(step)
        if kind is StepKind.CALL:
            self._last_answered[step.agent] = place
        if index + 1 >= self._steps_max:
            self.closed = True
            raise RunEnded(f"{self._steps_max} steps")


def redacted_effects(effects: tuple[Effect, ...], redactor: Redactor) -> tuple[Effect, ...]:
    """Return effects without secrets; before monitors see them, as they compare them with those of stored traces."""
    return tuple(effect._replace(identity=redacted_identity(effect.identity, redactor)) for effect in effects)


def redacted_identity(identity: Mapping[str, Plain], redactor: Redactor) -> dict[str, Plain]:
    """Return an identity without secrets."""
    return cast("dict[str, Plain]", redactor.value(plain(identity)))


def _redact(step: Step, redactor: Redactor) -> None:
    step.request, step.response = redactor.packed(step.request), redactor.packed(step.response)
    decision, failure = step.decision, step.failure
    if decision.reason or decision.proposed:
        step.decision = decision._replace(
            reason=redactor.text(decision.reason), proposed=redactor.packed(decision.proposed)
        )
    if failure is not None:
        step.failure = failure._replace(
            message=redactor.text(failure.message),
            args=tuple(redactor.value(argument) for argument in failure.args),
            attributes=cast("dict[str, Plain] | None", redactor.value(failure.attributes)),
        )
