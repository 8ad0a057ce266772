"""`chaosagent.replay`: run stored counterexamples again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from chaosagent.api.counterexample import Counterexample
from chaosagent.api.frame import frame_of
from chaosagent.api.replaying import (
    MODES,
    Rerun,
    Stored,
    exit_code_of,
    is_explained,
    page_of,
    replay_all,
    stored_at,
    totals_of,
)
from chaosagent.api.result import StudyResult
from chaosagent.api.running_loop import outside_running_loop
from chaosagent.api.target_output import target_output_to_stderr
from chaosagent.contracts.terms import check_whole
from chaosagent.errors import UnknownNameError, UsageError
from chaosagent.importable import stop_if_loading
from chaosagent.replays.record import ReplayRecord
from chaosagent.replays.rerun import DRAWS, PLACEMENTS
from chaosagent.report.html import folded_html, page_html, table_html
from chaosagent.report.page import Page
from chaosagent.targets.target import Target

if TYPE_CHECKING:
    from chaosagent.api.frame import Frame

EXPLAINED = "; the target has changed and holds now"
Mode: TypeAlias = Literal["schedule", "exact", "both"]
Record: TypeAlias = "Counterexample | ReplayRecord | str | Path"


@dataclass(frozen=True, slots=True, repr=False)
class ReplayResult:
    """What became of replayed records; iterating yields each replay.

    Attributes:
        reruns: Each replay of each record, with its `path`, `record` and `replay`, which has `outcome` and `detail`.
    """

    reruns: tuple[Rerun, ...]

    @property
    def held(self) -> bool:
        """Whether every record held or was reproduced; a divergence of a target that holds now is no complaint."""
        return bool(self.reruns) and self.exit_code == 0

    @property
    def exit_code(self) -> int:
        """The exit code of `chaosagent replay`: 0 if all is well, 1 violated, 2 refused, 3 open, 4 failed."""
        return exit_code_of(self.reruns)

    @property
    def totals(self) -> dict[str, int]:
        """How often each outcome came, by its name, such as `HELD`."""
        return totals_of(self.reruns)

    def to_frame(self) -> Frame:
        """Return the replays as a table: a `pandas.DataFrame` where pandas is installed, else a list of mappings."""
        return frame_of(
            {
                "path": str(one.path),
                "id": None if one.record is None else one.record.id,
                "contract": None if one.record is None else one.record.contract,
                "mode": one.replay.mode,
                "outcome": one.replay.outcome.value,
                "step": one.replay.step,
                "detail": one.replay.detail,
                "notes": "; ".join(one.replay.notes),
            }
            for one in self.reruns
        )

    def __iter__(self) -> Iterator[Rerun]:
        return iter(self.reruns)

    def __len__(self) -> int:
        return len(self.reruns)

    def __rich__(self) -> Page:
        return page_of(self.reruns)

    def __str__(self) -> str:
        return self.__rich__().text().rstrip("\n")

    def __repr__(self) -> str:
        told = ", ".join(f"{count} {outcome}" for outcome, count in self.totals.items()) or "nothing replayed"
        return f"<ReplayResult {told}>"

    def _repr_html_(self) -> str:
        rows = [
            (
                one.replay.outcome.value,
                one.replay.mode,
                one.path,
                one.replay.detail
                + ("; the target has changed and holds now" if is_explained(one, self.reruns) else ""),
            )
            for one in self.reruns
        ]
        table = table_html(("outcome", "mode", "record", "detail"), rows)
        return table + folded_html("in words", page_html(self.__rich__()))


def replay(
    records: StudyResult | Record | Iterable[Record],
    *,
    mode: Mode = "schedule",
    config: str | None = None,
    target: Target | str | None = None,
    draws: int = DRAWS,
    placements: int = PLACEMENTS,
    accept: bool = False,
) -> ReplayResult:
    """Run stored counterexamples again: does today's target survive them?

    A record may come from a stranger: it is refused, and nothing is imported for it, if it names code outside the
    working directory; `target` says which target is meant.

    Args:
        records: The result of a search, counterexamples, records, or paths of records and of folders that hold some.
        mode: `"schedule"`: inject the same faults into today's target; `"exact"`: reproduce the run offline, bit for
            bit; or `"both"`.
        config: Another configuration of the target, for schedules.
        target: Another target than the records name: the target itself, or its reference.
        draws: Runs of a stochastic target that asks what its record cannot answer; 1 or more.
        placements: Most runs to try the faults of a record at every call that may be the recorded one; 1 or more.
        accept: Write what has `CHANGED` next to each record, as reviewed; from then on it counts.

    Raises:
        UsageError: A path, a target or an argument is not allowed. What is wrong with one record is its outcome.
    """
    stop_if_loading()
    if mode not in MODES:
        raise UnknownNameError("mode", str(mode), MODES, "replay(mode=...)")
    for name, value in (("draws", draws), ("placements", placements)):
        check_whole("replay", name, value)
    stored = list(_stored(records))
    if accept and not all(one.has_file for one in stored):
        raise UsageError(
            "replay(accept=True): what is accepted is written next to a record, and some of these have no file. Search "
            "with out=... and replay that folder."
        )
    with outside_running_loop(), target_output_to_stderr(descriptors=False):
        reruns = replay_all(
            stored, mode=mode, config=config, target=target, draws=draws, placements=placements, accept=accept
        )
    return ReplayResult(tuple(reruns))


def _stored(records: StudyResult | Record | Iterable[Record]) -> Iterator[Stored]:
    if isinstance(records, StudyResult):
        yield from _stored(records.counterexamples)
    elif isinstance(records, str | Path):
        yield from stored_at([Path(records)])
    elif isinstance(records, Counterexample):
        name = Path(records.record.file_name)
        yield Stored(records.path or name, records.record, records.path is not None)
    elif isinstance(records, ReplayRecord):
        yield Stored(Path(records.file_name), records, has_file=False)
    elif isinstance(records, Iterable):
        for one in records:
            yield from _stored(one)
    else:
        raise UsageError(
            f"replay({records!r:.80}): give the result of a search, counterexamples, records, or paths of records."
        )
