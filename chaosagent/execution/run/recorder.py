"""Records the trace of a run: makes steps, shows them to the monitors, and stores them without secrets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Protocol, TypeAlias, cast

from chaosagent.canonical import DIGEST_BYTES, Plain, pack, plain
from chaosagent.contracts.contract import (
    HOLDS,
    Contract,
    End,
    Looks,
    MissingOutcome,
    Monitor,
    OutcomeMissingError,
    Reading,
    Setting,
    judges_cut_off,
)
from chaosagent.errors import ChaosAgentError, PluginError
from chaosagent.execution.crash_location import RAISED, with_place
from chaosagent.execution.failures import RunEnded
from chaosagent.execution.run.doors import LiveDoor
from chaosagent.faults.evaluation import Fingerprint
from chaosagent.faults.injection import Place
from chaosagent.limits import RunLimits
from chaosagent.trace.redact import Redactor
from chaosagent.trace.step import Decision, Landed, Link, Step, StepKind
from chaosagent.trace.trace import ContractVerdict, Violation
from chaosagent.trace.upstream_retry import UpstreamRetry
from chaosagent.vocabulary import CUT_OFF, Effect, Ending, Failure, Verdict


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
    soft_error: str


class Recorder:
    """The steps of one run.

    Args:
        watch: The monitors.
        limits: Of the run.
        redactor: Removes secrets; `None` when the target declares none.

    Attributes:
        steps: So far.
        links: Provenance declared since the last step.
        keep: Is called with each step, without secrets, before its crossing is answered; `None` for nobody. What it
            raises is raised in the place of that answer.
        retries: Requests that clients behind doors have sent again by themselves.
        closed: No further crossing may begin: the limit on steps is reached, or the run is worthless.
        inconclusive: Why the run can show nothing further, as the target or the run says; empty while it can.
        refused: The first thing that makes the run worthless: the target broke its protocol, a plug-in failed.
            Whatever the target does with the exception, the run ends with this error.
    """

    def __init__(self, watch: Monitors, limits: RunLimits, redactor: Redactor | None) -> None:
        self.watch, self.limits, self.redactor = watch, limits, redactor
        self.steps: list[Step] = []
        self.links: list[Link] = []
        self.retries: tuple[UpstreamRetry, ...] = ()
        self._steps_max = limits.steps_max
        self._last_answered: dict[str, Place] = {}
        self.refused: ChaosAgentError | None = None
        self.inconclusive = ""
        self.keep: Callable[[Step], None] | None = None
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
            ChaosAgentError: Whatever `keep` raises.
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
        step.effects, step.links, step.soft_error = passage.effects, (), passage.soft_error
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
        if self.keep is not None:
            self.keep(step)
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
    step.soft_error = redactor.text(step.soft_error)
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


Look: TypeAlias = "Callable[[Step], Reading | None]"


class _Watched:
    """One contract's monitor and its last reading."""

    __slots__ = ("_contract", "contract_id", "looks", "monitor", "reading", "violation")

    def __init__(self, contract: Contract, setting: Setting) -> None:
        self._contract, self.contract_id = contract, contract.id
        try:
            self.monitor: Monitor = contract.monitor(setting)
        except RAISED as error:  # a plug-in's mistake must not look like one of the target
            raise self.failed(error) from error
        self.looks: Looks = getattr(self.monitor, "looks", Looks.EVERY_STEP)
        self.reading: Reading = HOLDS
        self.violation: Violation | None = None

    def note(self, reading: Reading, step: int, agent: str) -> bool:
        """Keep a reading; return whether it is a violation."""
        self.reading = reading
        if reading.verdict is not Verdict.VIOLATED:
            return False
        self.violation = Violation(step, agent, reading.reason)
        return True

    def at_end(self, end: End) -> Reading:
        """Return what the monitor says at the end; `UNKNOWN` for what the run did not come to.

        Raises:
            PluginError: The monitor raised something.
        """
        ending = end.ending
        if ending in CUT_OFF and (ending is Ending.INCONCLUSIVE or not judges_cut_off(self._contract)):
            return Reading(Verdict.UNKNOWN, 0.0, f"the run was cut off: {end.detail}")
        outcome = end.outcome
        try:
            reading = self.monitor.end(end)
            asked = outcome.take_asked() if isinstance(outcome, MissingOutcome) else ""
            if asked and reading.verdict is Verdict.HOLDS:  # the contract has caught the error
                return Reading(Verdict.UNKNOWN, 0.0, asked)
            return reading
        except OutcomeMissingError as error:
            return Reading(Verdict.UNKNOWN, 0.0, str(error))
        except RAISED as error:  # a plug-in's mistake must not look like one of the target
            if end.has_outcome:
                raise self.failed(error) from error
            text = f"the run ended with {end.ending.value}, and the contract raised {with_place(error)} on it"
            return Reading(Verdict.UNKNOWN, 0.0, text)

    def failed(self, error: BaseException) -> PluginError:
        """Return what is raised when the monitor raised something."""
        return PluginError(f"contract {self.contract_id!r} raised {with_place(error)}")


class Monitors:
    """Feeds every step to the monitors of the contracts, and of what the contracts require.

    Args:
        contracts: In the order in which verdicts are listed.
        setting: Task, nominal run and settings.

    Attributes:
        of_effects: The monitors that look at steps with effects.
        of_every_step: Those that look at the others, too.
    """

    def __init__(self, contracts: Sequence[Contract], setting: Setting) -> None:
        self._watched = [_Watched(contract, setting) for contract in contracts]
        self._required: dict[int, _Watched] = {}
        for number, contract in enumerate(contracts):
            if contract.requires is not None:
                self._required[number] = _Watched(contract.requires, setting)
        self._active = [*self._watched, *self._required.values()]
        self._sort_by_interest()

    def step(self, step: Step) -> None:
        """Look at the next step.

        Raises:
            PluginError: A monitor raised something.
        """
        broken = False
        for look, watched in self.of_effects if step.effects else self.of_every_step:
            try:
                reading = look(step)
            except RAISED as error:  # a plug-in's mistake must not look like one of the target
                raise watched.failed(error) from error
            if reading is not None and watched.note(reading, step.index, step.agent):
                broken = True
        if broken:
            self._active = [watched for watched in self._active if watched.violation is None]
            self._sort_by_interest()

    def _sort_by_interest(self) -> None:
        """Most monitors look at few steps, and asking five about each would cost a twelfth of a crossing."""
        self.of_effects: list[tuple[Look, _Watched]] = []
        self.of_every_step: list[tuple[Look, _Watched]] = []
        for watched in self._active:
            looks = watched.looks
            if looks is not Looks.NEVER:
                pair = watched.monitor.step, watched
                self.of_effects.append(pair)
                if looks is Looks.EVERY_STEP:
                    self.of_every_step.append(pair)

    def end(self, end: End, last_agent: str) -> tuple[ContractVerdict, ...]:
        """Look at the end of the run and return all verdicts.

        Raises:
            PluginError: A monitor raised something.
        """
        for watched in self._active:
            watched.note(watched.at_end(end), end.step_count, last_agent)
        verdicts = []
        for number, watched in enumerate(self._watched):
            reading, violation, required = watched.reading, watched.violation, self._required.get(number)
            unfair = violation is not None and required is not None and required.violation is not None
            verdicts.append(ContractVerdict(watched.contract_id, reading.verdict, reading.margin, violation, unfair))
        return tuple(verdicts)

    def cut_off(self) -> tuple[ContractVerdict, ...]:
        """Return the verdicts on a run whose end is not known: what is not violated by now is unknown."""
        verdicts = []
        for number, watched in enumerate(self._watched):
            violation, required = watched.violation, self._required.get(number)
            verdict = Verdict.UNKNOWN if violation is None else Verdict.VIOLATED
            unfair = violation is not None and required is not None and required.violation is not None
            margin = 0.0 if violation is None else watched.reading.margin
            verdicts.append(ContractVerdict(watched.contract_id, verdict, margin, violation, unfair))
        return tuple(verdicts)

    def fingerprint(self, position: int, common: bytes) -> Fingerprint:
        """Return the fingerprint of target and monitors at this moment."""
        return Fingerprint(
            position,
            blake2b(common, digest_size=DIGEST_BYTES).digest(),
            tuple(_state_digest(watched, self._required.get(number)) for number, watched in enumerate(self._watched)),
        )


def _state_digest(watched: _Watched, required: _Watched | None) -> bytes:
    parts = [
        None if one is None else "violated" if one.violation is not None else one.monitor.state()
        for one in (watched, required)
    ]
    return blake2b(pack(parts), digest_size=DIGEST_BYTES).digest()
