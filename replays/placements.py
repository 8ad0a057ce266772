"""Placing the faults of a record at every call of today's target that may be the recorded one.

The faults are placed one after the other, each in the run with the faults before it, so that the search is a tree of
runs. Every run is judged; the worst decides.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from chaosagent.execution.execute import Execution
from chaosagent.execution.run.doors import DoorOptions
from chaosagent.faults.injection import Place
from chaosagent.faults.schedule import Schedule, schedule
from chaosagent.replays.calls import Call, CallRelation, Candidate, Fault, RecordedCalls, calls_of, candidates, place_of
from chaosagent.vocabulary import Landing


class Harm(enum.Enum):
    """What a run does to a record's claim, from the least to the worst."""

    NONE = "none"
    UNCLEAR = "the contract is neither violated nor does it hold"
    UNFINISHED = "the run does not finish, as the record's did"
    OTHERWISE = "the contract is violated, but not as in the record"
    UNLIVELY = "a contract on finishing is violated, which the record's run has kept"
    VIOLATED = "the contract is violated"


class JudgedRun(NamedTuple):
    """A run and what it does.

    Attributes:
        execution: The run.
        harm: What it does to the contract, wherever the faults are.
        same_signature: Where it violates the contract, it does so as in the record.
        is_finished: It came to its end as the record's run did, or as today's run without faults does.
        notes: What else is worth knowing.
        share_max: Where answers come by chance, up to which share of runs may break the contract, at 95 % confidence.
    """

    execution: Execution
    harm: Harm
    same_signature: bool = False
    is_finished: bool = True
    notes: tuple[str, ...] = ()
    share_max: float = 0.0


class BrokenRun(NamedTuple):
    """A run that does harm, and where its faults were."""

    judged: JudgedRun
    harm: Harm
    placed: tuple[Candidate, ...]


class FixedRun(NamedTuple):
    """A run in which each fault landed at its own call, and nothing broke; or had no call any more.

    Attributes:
        judged: The run.
        placed: The faults that landed, and where.
        lost: Those whose call is not made any more.
    """

    judged: JudgedRun
    placed: tuple[Candidate, ...]
    lost: tuple[Fault, ...]


@dataclass(slots=True)
class Findings:
    """What came of placing the faults.

    Attributes:
        worst: The worst run, `None` when none did harm.
        fixed: The first run that says that the record is fixed.
        unchanged: A fault that has own calls and changed nothing at any.
        unplaced: The first fault found no call to land at.
        replaced: A fault that landed, but at no call of its own.
        recorded_holds: The runs with faults at the recorded calls alone did no harm.
        placement_count: How many runs had all faults placed.
        is_cut: There are more runs than may be made.
    """

    worst: BrokenRun | None = None
    fixed: FixedRun | None = None
    unchanged: Fault | None = None
    unplaced: Fault | None = None
    replaced: Fault | None = None
    recorded_holds: bool = False
    placement_count: int = 0
    is_cut: bool = False


class _CutError(Exception):
    """There are more runs than may be made."""


class _FoundError(Exception):
    """Nothing worse can be found."""


@dataclass(slots=True)
class Placements:
    """Searches all placements.

    Attributes:
        recorded: What the record knows of its calls.
        judged: Runs a schedule and judges the run.
        base: Today's run without faults.
        is_unchanged: It does what the record's did, so that the recorded places are the only ones for what comes first.
        doors: What today's target declares, as `candidates` needs it.
        interfaces: Those that today's run without faults has opened.
        runs_max: How many runs may be made.
        secrets: The patterns of today's target.
        findings: What was found so far.
    """

    recorded: RecordedCalls
    judged: Callable[[Schedule], JudgedRun]
    base: JudgedRun
    is_unchanged: bool
    doors: Mapping[str, DoorOptions] | None
    interfaces: Container[str]
    runs_max: int
    secrets: tuple[str, ...]
    findings: Findings = field(default_factory=Findings)
    _run_before: set[Schedule] = field(default_factory=set)

    def search(self) -> Findings:
        """Return what comes of all placements, or of those up to the first violation."""
        try:
            self._place((), (), self.base)
        except _FoundError:
            pass
        except _CutError:
            self.findings.is_cut = True
        return self.findings

    def _place(self, placed: tuple[Candidate, ...], lost: tuple[Fault, ...], base: JudgedRun) -> None:
        """Place the next fault in a run with those before it."""
        number = len(placed) + len(lost)
        if number == len(self.recorded.faults):
            self._complete(placed, lost, base)
            return
        fault = self.recorded.faults[number]
        landed: set[CallRelation] = set()
        has_own = False
        for candidate in self._candidates(fault, placed, base.execution):
            has_own = has_own or candidate.relation is CallRelation.OWN
            both = self._relocated(placed, candidate)
            if both is None:
                continue
            judged = self._run(both)
            if not _lands(judged.execution, candidate):
                continue
            landed.add(candidate.relation)
            if number + 1 < len(self.recorded.faults) and _harm_of(judged, both) in _VIOLATIONS:
                self._note_harm(judged, both)
            self._place(both, lost, judged)
        if CallRelation.OWN not in landed and number:
            if has_own:
                self.findings.unchanged = self.findings.unchanged or fault
            else:
                self._lose(fault, placed, lost, base, is_replaced=CallRelation.NEW in landed)
        if not number:
            self._note_first(fault, landed, has_own=has_own)

    def _note_first(self, fault: Fault, landed: set[CallRelation], *, has_own: bool) -> None:
        if CallRelation.OWN in landed:
            return
        if has_own:
            self.findings.unchanged = fault
        elif landed:
            self.findings.replaced = fault
        else:
            self.findings.unplaced = fault

    def _lose(
        self,
        fault: Fault,
        placed: tuple[Candidate, ...],
        lost: tuple[Fault, ...],
        base: JudgedRun,
        *,
        is_replaced: bool,
    ) -> None:
        """Continue without a fault whose call is not made any more.

        Its door must be there still; or it was only opened because of an earlier fault, and no new call replaces it.
        """
        interface, known = fault.injection.hook.interface, self.recorded.undisturbed
        used = {crossing.place.interface for crossing in base.execution.evaluation.crossings}
        is_open = interface in used or interface in self.interfaces
        if is_open or (known is not None and interface not in known and not is_replaced):
            self._place(placed, (*lost, fault), base)
        else:
            self.findings.replaced = self.findings.replaced or fault

    def _candidates(self, fault: Fault, placed: tuple[Candidate, ...], execution: Execution) -> list[Candidate]:
        calls = calls_of(execution.evaluation.crossings, self.secrets)
        taken = {candidate.call.place for candidate in placed if candidate.call is not None}
        staying = [one.injection.hook for one in self.recorded.faults if one.stays]
        found = [
            candidate
            for candidate in candidates(fault, calls, self.recorded, taken=taken, doors=self.doors)
            if candidate.call is None or not any(hook.overlaps(candidate.injection.hook) for hook in staying)
        ]
        if not self.is_unchanged or not all(candidate.is_recorded for candidate in placed) or fault.step is None:
            return found
        place = place_of(fault.step)
        if not placed:
            return [one for one in found if one.call is None or one.call.place == place] or found
        since = max((candidate.call.asked for candidate in placed if candidate.call is not None), default=-1)
        return [one for one in found if one.call is None or one.call.asked > since or one.call.place == place]

    def _relocated(self, placed: tuple[Candidate, ...], candidate: Candidate) -> tuple[Candidate, ...] | None:
        """Return a placement with one more fault, in which the others are at the calls that they were at.

        A fault before another one in time may lead to more calls or fewer, so that the other one's call is counted
        otherwise. It is looked for anew then; where it is not made any more, the fault stays where it was,
        and `None` is returned if another fault is there already.
        """
        later = [one for one in placed if _is_before(candidate, one)]
        if not later:
            return (*placed, candidate)
        before = [one for one in placed if one not in later]
        found = dict(zip(map(_fault_text, placed), placed, strict=True))
        for one in sorted(later, key=_asked):
            execution = self._run((*before, candidate)).execution
            taken = {other.call.place for other in (*before, candidate) if other.call is not None}
            moved = _same_call(one, calls_of(execution.evaluation.crossings, self.secrets), taken)
            if moved is None:
                return None
            found[_fault_text(one)] = moved
            before.append(moved)
        return (*found.values(), candidate)

    def _run(self, placed: Sequence[Candidate]) -> JudgedRun:
        wanted = schedule([candidate.injection for candidate in placed])
        if wanted not in self._run_before and len(self._run_before) >= self.runs_max:
            raise _CutError
        self._run_before.add(wanted)
        return self.judged(wanted)

    def _note_harm(self, judged: JudgedRun, placed: tuple[Candidate, ...]) -> None:
        """Keep the worst; end the search where nothing worse can be found."""
        harm = _harm_of(judged, placed)
        worst = self.findings.worst
        if harm is Harm.NONE:
            are_recorded = all(candidate.is_recorded for candidate in placed)
            self.findings.recorded_holds = self.findings.recorded_holds or are_recorded
            return
        if worst is None or _rank(harm) > _rank(worst.harm):
            self.findings.worst = BrokenRun(judged, harm, placed)
        if harm in (Harm.VIOLATED, Harm.UNLIVELY):
            raise _FoundError

    def _complete(self, placed: tuple[Candidate, ...], lost: tuple[Fault, ...], judged: JudgedRun) -> None:
        self.findings.placement_count += 1
        self._note_harm(judged, placed)
        if self.findings.fixed is not None or _harm_of(judged, placed) is not Harm.NONE:
            return
        if all(candidate.relation is CallRelation.OWN for candidate in placed) and _all_land(judged.execution, placed):
            self.findings.fixed = FixedRun(judged, placed, lost)


def _harm_of(judged: JudgedRun, placed: Sequence[Candidate]) -> Harm:
    """Return what a run does, given where its faults are."""
    relations = {candidate.relation for candidate in placed}
    is_replacement = relations <= {CallRelation.OWN, CallRelation.NEW}
    if judged.harm is Harm.VIOLATED and not relations <= {CallRelation.OWN}:
        if judged.same_signature and (judged.is_finished or CallRelation.OTHER not in relations):
            return Harm.VIOLATED
        # The record says nothing of a crash at a new read, nor of what the run then leaves undone.
        return Harm.OTHERWISE if judged.is_finished or CallRelation.NEW_READ not in relations else Harm.NONE
    if judged.harm in (Harm.UNCLEAR, Harm.UNFINISHED, Harm.UNLIVELY) and not is_replacement:
        return Harm.NONE  # the record says nothing of a crash at such a call
    return judged.harm


_ORDER = list(Harm)
_VIOLATIONS = frozenset({Harm.VIOLATED, Harm.UNLIVELY, Harm.OTHERWISE})


def _rank(harm: Harm) -> int:
    return _ORDER.index(harm)


def _asked(candidate: Candidate) -> int:
    return -1 if candidate.call is None else candidate.call.asked


def _fault_text(candidate: Candidate) -> str:
    return str(candidate.fault.injection)


def _is_before(candidate: Candidate, other: Candidate) -> bool:
    """Whether a call is made before another one; what has no call of its own is not compared."""
    return candidate.call is not None and other.call is not None and candidate.call.asked < other.call.asked


def _same_call(candidate: Candidate, calls: Sequence[Call], taken: Container[Place]) -> Candidate | None:
    """Return a fault at the same call in another run: the same request, and at least as many of its kind before it."""
    call = candidate.call
    assert call is not None
    for other in calls:
        is_same = other.pair == call.pair and other.request == call.request and other.number >= call.number
        if is_same and other.place not in taken:
            return candidate._replace(call=other)
    return None if call.place in taken else candidate


def _lands(execution: Execution, candidate: Candidate) -> bool:
    text = str(candidate.injection)
    return any(one.landing is Landing.LANDED and one.injection == text for one in execution.trace.landed)


def _all_land(execution: Execution, placed: Sequence[Candidate]) -> bool:
    return all(_lands(execution, candidate) for candidate in placed)
