"""`chaosagent.replay`: run stored counterexamples again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from chaosagent.api.arguments import name_of, path_of, whole_of
from chaosagent.api.counterexample import Counterexample
from chaosagent.api.replays.replayed import ReplayedRecord, exit_code_of, is_explained, page_of, totals_of
from chaosagent.api.replays.replaying import MODES, OptionNames, StoredRecord, Writing, records_at, replay_all
from chaosagent.api.result import StudyResult, each_of
from chaosagent.api.rows import frame_of
from chaosagent.api.running_loop import outside_running_loop
from chaosagent.api.target_output import target_output_to_stderr
from chaosagent.errors import UsageError
from chaosagent.importable import stop_if_loading
from chaosagent.limits import RUNS_MAX
from chaosagent.replays.outcome import DEFAULT_RUNS_MAX, RunsMax
from chaosagent.replays.record import ReplayRecord
from chaosagent.report.page import Page, folded_html, page_html, table_html
from chaosagent.targets.target import Target
from chaosagent.yaml_file import quote_value

if TYPE_CHECKING:
    from chaosagent.api.rows import Frame

EXPLAINED = "; the target has changed and holds now"
WRITES = ("accept", "promote", "both")
Write: TypeAlias = Literal["accept", "promote", "both"]
Mode: TypeAlias = Literal["schedule", "exact", "both"]
Record: TypeAlias = "Counterexample | ReplayRecord | str | Path"


@dataclass(frozen=True, slots=True, repr=False)
class ReplayResult:
    """What became of replayed records; iterating yields each replay.

    Attributes:
        reruns: Each replay of each record, with its `path`, `record` and `replay`, which has `outcome` and `detail`.
    """

    reruns: tuple[ReplayedRecord, ...]

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
                "contract": None if one.record is None else one.record.contract or None,
                "mode": one.replay.mode,
                "outcome": one.replay.outcome.value,
                "expect": None if one.expect is None else one.expect.value,
                "standing": one.standing.value or None,
                "step": one.replay.step,
                "detail": one.replay.detail,
                "notes": "; ".join(one.replay.notes),
            }
            for one in self.reruns
        )

    def __iter__(self) -> Iterator[ReplayedRecord]:
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
    draws: int = DEFAULT_RUNS_MAX.draws,
    placements: int = DEFAULT_RUNS_MAX.placements,
    around: int = DEFAULT_RUNS_MAX.neighbours,
    write: Write | None = None,
) -> ReplayResult:
    """Run stored counterexamples again: does today's target survive them?

    A record may come from a stranger: it is refused, and nothing is imported for it, if it names code outside the
    working directory; `target` says which target is meant.

    Args:
        records: The result of a search, counterexamples, records, or paths of records and of folders that hold some.
        mode: `"schedule"`: inject the same faults into today's target; `"exact"`: reproduce the run offline, bit for
            bit; or `"both"`.
        config: Another configuration of the target, for schedules.
        target: Another target than the records name: the target itself, or its reference. A counterexample of a
            target that was handed to `search` in this process is replayed with that object by default.
        draws: Runs of a stochastic target that asks what its record cannot answer; 1 or more.
        placements: Most runs to try the faults of a record at every call that may be the recorded one; 1 or more.
        around: How many neighbours of a record that holds are run, cheapest first; 0 runs none. One that breaks the
            contract makes it `DODGED`, and is written next to it as a record of its own.
        write: `"accept"`: what has `CHANGED`, next to each record, as reviewed; from then on it counts. `"promote"`:
            next to each record that is `HELD`, that this is expected from now on. Or `"both"`.

    Raises:
        UsageError: A path, a target or an argument is not allowed. What is wrong with one record is its outcome.
    """
    stop_if_loading()
    name_of("replay", "mode", mode, MODES)
    if not isinstance(config, str | None):
        raise UsageError(f"replay(config={quote_value(config)}): config must be the name of a configuration.")
    if not isinstance(target, str | Target | None):
        raise UsageError(
            f"replay(target={quote_value(target)}): target must be a target or its name. Decorate the function with "
            "@chaosagent.target()."
        )
    if write is not None:
        name_of("replay", "write", write, WRITES)
    for name, wanted in (("write", write), ("around", around)):
        if wanted and mode == "exact":
            raise UsageError(
                f"replay({name}={quote_value(wanted)}, mode='exact'): {name} is for schedules. Leave out one of them."
            )
    for name, value in (("draws", draws), ("placements", placements)):
        whole_of("replay", name, value, RUNS_MAX)
    whole_of("replay", "around", around, RUNS_MAX, least=0)
    stored = list(_stored(records))
    if write and not all(one.has_file for one in stored):
        raise UsageError(
            f"replay(write={write!r}): what is decided is written next to a record, and some of these have no file. "
            "Search with out=... and replay that folder."
        )
    with outside_running_loop(), target_output_to_stderr(descriptors=False):
        reruns = replay_all(
            stored,
            mode=mode,
            config=config,
            target=target,
            runs_max=RunsMax(draws, placements, around),
            writing=Writing(accept=write in ("accept", "both"), promote=write in ("promote", "both")),
            words=OptionNames(target="target=...", config="config=..."),
        )
    return ReplayResult(tuple(reruns))


def _stored(records: object) -> Iterator[StoredRecord]:
    for one in each_of("replay", "records", records):
        if isinstance(one, str | Path):
            yield from records_at([path_of("replay", "records", one)])
        elif isinstance(one, Counterexample):
            name = Path(one.record.file_name)
            yield StoredRecord(one.path or name, one.record, one.path is not None, one.searched_target)
        elif isinstance(one, ReplayRecord):
            yield StoredRecord(Path(one.file_name), one, has_file=False)
        else:
            raise UsageError(
                f"replay(records={quote_value(one)}): give the result of a search, counterexamples, records, or paths "
                "of records."
            )
