"""Replayed records: what each outcome means, the exit code, and how they are shown."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from chaosagent.canonical import Plain
from chaosagent.replays.outcome import Failure, Replay, ReplayOutcome
from chaosagent.replays.record import ReplayRecord
from chaosagent.replays.review import Expectation
from chaosagent.report.formats.cases import Case, Status
from chaosagent.report.page import Cell, Page, Span, bad, faint, good, name, notice
from chaosagent.report.story import quantity

SOUND = frozenset({ReplayOutcome.HELD, ReplayOutcome.REPRODUCED})
OPEN = frozenset({ReplayOutcome.DIVERGED, ReplayOutcome.CHANGED, ReplayOutcome.MOVED, ReplayOutcome.NOT_LANDED})


class Standing(enum.Enum):
    """What an outcome means to who runs a suite."""

    NEW = "new"
    BACK = "came back"
    KNOWN = "known and open"
    FIXED = "fixed"
    ELSEWHERE = "elsewhere"
    EMPTY = "tests nothing any more"
    SOUND = "as expected"
    OTHER = ""


KNOWN = "KNOWN"
"""Shown in place of the outcome of a failure that is known and open."""
RENAMED = "fix the target; if a tool was renamed, remove this record, search again and use `chaosagent suite --add`"
"""What to do where a record breaks without its faults or at calls of another name."""
BESIDE_REMEDY = "a search of today's target finds what breaks it, and `chaosagent suite --add` keeps that"
"""What to do where a run that holds breaks another contract."""
WITHOUT_FAULTS = "without-faults"
"""In the place of a contract in the formats of other tools, for a run without faults."""
MEANINGS = {
    Standing.BACK: "it had been fixed, and came back",
    Standing.KNOWN: "known and open, as expected",
    Standing.FIXED: "it was open and holds now; --promote expects that from now on",
    Standing.ELSEWHERE: "what breaks is no longer what was recorded: search again",
    Standing.EMPTY: "it tests nothing any more: search again, or remove it with `chaosagent suite --prune`",
}
"""What is said of a record beside its outcome."""


@dataclass(frozen=True, slots=True)
class ReplayedRecord:
    """One replay of one record.

    Attributes:
        path: Of the record; its file name where it has no file.
        record: What it holds; `None` when it cannot be read or is refused.
        replay: What came of it.
        expect: What is expected of the record; `None` where nobody has said.
        seconds: Real time that the replay took; `None` where nothing ran.
    """

    path: Path
    record: ReplayRecord | None
    replay: Replay
    expect: Expectation | None = None
    seconds: float | None = field(default=None, compare=False)

    @property
    def standing(self) -> Standing:
        """What the outcome means, given what is expected."""
        outcome = self.replay.outcome
        was_fixed = self.expect is Expectation.HELD and not (self.record is not None and self.record.is_nominal)
        if outcome is ReplayOutcome.REPRODUCED:
            return Standing.BACK if was_fixed else Standing.SOUND
        if outcome is ReplayOutcome.HELD:
            return Standing.FIXED if self.expect is Expectation.VIOLATED else Standing.SOUND
        if outcome in (ReplayOutcome.MOVED, ReplayOutcome.NOT_LANDED):
            return Standing.EMPTY if self.replay.failure is None else Standing.ELSEWHERE
        if outcome not in (ReplayOutcome.VIOLATED, ReplayOutcome.DODGED):
            return Standing.OTHER
        if self.expect is Expectation.VIOLATED and not self.breaks_otherwise:
            return Standing.KNOWN
        is_back = was_fixed and outcome is ReplayOutcome.VIOLATED and self.replay.failure is Failure.OWN
        return Standing.BACK if is_back else Standing.NEW

    @property
    def breaks_otherwise(self) -> bool:
        """Whether something is violated that is not the failure of the record, or beside it."""
        replay = self.replay
        is_violated = replay.outcome is ReplayOutcome.VIOLATED
        return is_violated and (replay.failure is not Failure.OWN or bool(replay.changes))


def meaning_of(rerun: ReplayedRecord) -> str:
    """Return what is said of a record beside its outcome, empty if nothing is."""
    if rerun.expect is None:
        return ""
    if rerun.standing is Standing.KNOWN and rerun.replay.outcome is ReplayOutcome.DODGED:
        return "known and open still: the fix evades the recorded faults only"
    if rerun.standing is Standing.NEW and rerun.breaks_otherwise:
        place = "beside" if rerun.replay.failure is Failure.OWN else "in place of"
        remedy = "; if it is known, too, `replay --accept` writes that down" if rerun.replay.changes else f"; {RENAMED}"
        return f"a new failure {place} the recorded one{remedy}"
    return MEANINGS.get(rerun.standing, "")


def warning_of(rerun: ReplayedRecord) -> str:
    """Return what somebody should look at though the record is `HELD`, empty if there is nothing."""
    changes = rerun.replay.changes if rerun.replay.outcome is ReplayOutcome.HELD else ()
    return "; ".join(change.text for change in changes) + f": {BESIDE_REMEDY}" if changes else ""


def exit_code_of(reruns: Sequence[ReplayedRecord]) -> int:
    """Return 1 if something is violated or dodged, else 2 if a record is refused, 4 if a run failed, 3 if one is open.

    A violation that is known and open counts for nothing, and a divergence that a fix explains neither. What was fixed
    and is reproduced counts as violated.
    """
    standings = {rerun.standing for rerun in reruns}
    outcomes = {
        rerun.replay.outcome
        for rerun in reruns
        if rerun.standing is not Standing.KNOWN and not is_explained(rerun, reruns)
    }
    if outcomes & {ReplayOutcome.VIOLATED, ReplayOutcome.DODGED} or Standing.BACK in standings:
        return 1
    if ReplayOutcome.REFUSED in outcomes:
        return 2
    if ReplayOutcome.ERROR in outcomes:
        return 4
    return 3 if outcomes & OPEN else 0


def is_explained(rerun: ReplayedRecord, reruns: Sequence[ReplayedRecord]) -> bool:
    """Whether a divergence is the trace of a fix: the same record's schedule held in today's target."""
    return rerun.replay.outcome is ReplayOutcome.DIVERGED and any(
        other.path == rerun.path and other.replay.outcome is ReplayOutcome.HELD for other in reruns
    )


def page_of(reruns: Sequence[ReplayedRecord]) -> Page:
    """Return a line for each replay, and the totals."""
    page = Page()
    page.table((), [_row(rerun, reruns) for rerun in reruns], indent=0)
    shown = Counter(_shown(rerun) for rerun in reruns)
    totals = {word: shown[word] for word in (KNOWN, *(outcome.value for outcome in ReplayOutcome)) if shown[word]}
    standings = Counter(rerun.standing for rerun in reruns if rerun.expect is not None)
    told = ", ".join(f"{standings[one]} {one.value or 'otherwise'}" for one in Standing if standings[one])
    if told:
        page.gap().line(f"{quantity(standings.total(), 'record')} with an expectation: {told}")
    warned = sum(bool(warning_of(rerun)) for rerun in reruns)
    if warned:
        where = quantity(warned, "record that is HELD", "records that are HELD")
        page.gap().line(notice(f"Another contract breaks under the faults of {where}: {BESIDE_REMEDY}"))
    page.gap().line(
        f"{quantity(len(reruns), 'replay')}: ", ", ".join(f"{count} {outcome}" for outcome, count in totals.items())
    )
    return page


def _row(rerun: ReplayedRecord, reruns: Sequence[ReplayedRecord]) -> Sequence[Cell]:
    replay = rerun.replay
    beside = {change.text for change in replay.changes}
    notes = ((notice if note in beside else faint)(f"; {note}") for note in replay.notes)
    detail: list[str | Span] = [replay.detail, *notes]
    if meaning := meaning_of(rerun):
        detail.append(notice(f"; {meaning}"))
    if is_explained(rerun, reruns):
        detail.append(faint("; the target has changed and holds now"))
    outcome = notice(KNOWN) if rerun.standing is Standing.KNOWN else _coloured(replay.outcome)
    return (outcome, faint(replay.mode), name(str(rerun.path)), detail)


def _shown(rerun: ReplayedRecord) -> str:
    """Return the word that stands first in the line of a replay."""
    return KNOWN if rerun.standing is Standing.KNOWN else rerun.replay.outcome.value


def _coloured(outcome: ReplayOutcome) -> Span:
    if outcome in SOUND:
        return good(outcome.value)
    return notice(outcome.value) if outcome in OPEN else bad(outcome.value)


def totals_of(reruns: Iterable[ReplayedRecord]) -> dict[str, int]:
    """Return how often each outcome came, in the order of their declaration."""
    counts = Counter(rerun.replay.outcome for rerun in reruns)
    return {outcome.value: counts[outcome] for outcome in ReplayOutcome if counts[outcome]}


def to_json(reruns: Sequence[ReplayedRecord]) -> dict[str, Plain]:
    """Return the replays as plain data."""
    return {"records": [_record_json(rerun) for rerun in reruns], "totals": {**totals_of(reruns)}}


def _record_json(rerun: ReplayedRecord) -> Plain:
    replay, record = rerun.replay, rerun.record
    beside = replay.neighbour
    return {
        "path": str(rerun.path),
        "id": None if record is None else record.id,
        "contract": None if record is None else record.contract or None,
        "mode": replay.mode,
        "outcome": replay.outcome.value,
        "expect": None if rerun.expect is None else rerun.expect.value,
        "standing": rerun.standing.value or None,
        "step": replay.step,
        "detail": replay.detail,
        "notes": list(replay.notes),
        "neighbour": None
        if beside is None
        else {
            "kind": beside.kind,
            "schedule": str(beside.record.schedule),
            "cost": beside.record.cost,
            "file": beside.record.file_name,
        },
        "changes": [{"what": change.what, "text": change.text} for change in replay.changes],
    }


def cases_of(reruns: Sequence[ReplayedRecord]) -> list[Case]:
    """Return a case for each replay, for the formats of other tools."""
    times = Counter(rerun.path for rerun in reruns)
    return [_case(rerun, reruns, is_alone=times[rerun.path] == 1) for rerun in reruns]


def _case(rerun: ReplayedRecord, reruns: Sequence[ReplayedRecord], *, is_alone: bool) -> Case:
    replay, record = rerun.replay, rerun.record
    statuses: dict[Standing, Status] = {Standing.SOUND: "passed", Standing.FIXED: "passed", Standing.KNOWN: "known"}
    status = statuses.get(rerun.standing, "failed")
    if replay.outcome in (ReplayOutcome.REFUSED, ReplayOutcome.ERROR):
        status = "error"
    elif is_explained(rerun, reruns):
        status = "passed"
    meaning = meaning_of(rerun)
    message = f"{replay.outcome.value}: {replay.detail}{f'; {meaning}' if meaning else ''}"
    name = str(rerun.path) if is_alone else f"{rerun.path} ({replay.mode})"
    contract, found = ("", "") if record is None else (record.contract or WITHOUT_FAULTS, record.id)
    mark = f"{found}, {replay.mode}" if found and replay.mode != "schedule" else found
    path, notes = str(rerun.path), "\n".join(replay.notes)
    return Case(contract, name, status, message, notes, path, mark, seconds=rerun.seconds, warning=warning_of(rerun))
