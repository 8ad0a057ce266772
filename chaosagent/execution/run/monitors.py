"""The monitors of one run and the latest reading of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import TypeAlias

from chaosagent.canonical import DIGEST_BYTES, pack
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
from chaosagent.errors import PluginError
from chaosagent.execution.crash_location import RAISED, with_place
from chaosagent.faults.evaluation import Fingerprint
from chaosagent.trace.step import Step
from chaosagent.trace.trace import ContractVerdict, Violation
from chaosagent.vocabulary import CUT_OFF, Ending, Verdict

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
