"""A regression suite: the fewest records that cover every broken contract and every cause of some studies."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from chaosagent.api.stored.study_facts import study_facts
from chaosagent.api.suites.covering import smallest_cover
from chaosagent.api.suites.nominal_runs import nominal_records
from chaosagent.errors import UsageError
from chaosagent.faults.injection import place_of
from chaosagent.replays.record import ReplayRecord
from chaosagent.replays.review import Expectation, Review, read_review, review_path, write_review
from chaosagent.replays.store import DRAFT_SUFFIX, read_record, records_below, write_record
from chaosagent.report.causes.calls import Calls
from chaosagent.report.causes.cause import causes_of, finding_in

SHARED_MODE = 0o644
"""Of the files of a suite, which belongs into version control."""


class Element(NamedTuple):
    """Something that a suite has to cover.

    Attributes:
        contract: A contract that is broken; empty for a cause.
        cause: Number of the cause, from 1, cheapest first; 0 for a contract.
        interface: Where a fault of the cause lands.
        operation: Which call it hits there.
        config: In which configuration of the target; empty where all records are of one.
    """

    contract: str = ""
    cause: int = 0
    interface: str = ""
    operation: str = ""
    config: str = ""

    def __str__(self) -> str:
        what = self.contract or f"cause {self.cause} at {self.interface} {self.operation}".rstrip()
        return f"{what} in configuration {self.config}" if self.config else what


@dataclass(frozen=True, slots=True)
class Candidate:
    """A record that may be in a suite.

    Attributes:
        path: Of its file.
        record: What it holds.
        is_kept: It is in the suite already, and stays.
        covers: What it shows.
    """

    path: Path
    record: ReplayRecord
    is_kept: bool
    covers: frozenset[Element]


@dataclass(frozen=True, slots=True)
class Suite:
    """The records that were chosen.

    Attributes:
        chosen: Cheapest first; those that are in the suite already among them.
        others: That need not be in it.
        headlines: What each cause does, by its number.
        nominal: Runs without faults that are to be added.
        remarks: What kept others from being made, a sentence each.
    """

    chosen: tuple[Candidate, ...]
    others: tuple[Candidate, ...]
    headlines: Mapping[int, str]
    nominal: tuple[ReplayRecord, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def new(self) -> tuple[Candidate, ...]:
        """Those that are to be copied."""
        return tuple(one for one in self.chosen if not one.is_kept)


def choose_suite(folders: Sequence[Path], existing: Sequence[Path] = (), *, per_category: int = 0) -> Suite:
    """Choose the smallest set of records of some studies that covers every broken contract and every cause.

    A cause counts once for each interface and operation that its faults hit. Runs without faults are made of a few
    tasks, for which the target is run.

    Args:
        folders: Of the studies.
        existing: Records that are in the suite and stay; what they cover need not be covered again.
        per_category: How many runs without faults there are to be for each category of tasks.

    Raises:
        UsageError: A folder holds no study, or there is nothing to choose from; records are of several targets; or two
            different records have the same name.
        StoredDataError: A store is damaged, or of another version.
        RecordError: A record cannot be read.
        MissingExtraError: scipy is not installed.
    """
    found: dict[Path, tuple[ReplayRecord, Calls | None]] = {}
    for folder in folders:
        found.update({one.path: (one.record, one.calls) for one in study_facts(folder).counterexamples})
    calls = {record.id: known for record, known in found.values()}
    kept = {path: read_record(path) for path in existing}
    present = {record.id for record in kept.values()}
    new = {path: record for path, (record, _) in found.items() if record.id not in present}
    listed = [*kept.items(), *new.items()]
    check_one_suite(listed)
    covered, headlines = covered_by([record for _, record in listed], calls)
    every = [Candidate(path, record, path in kept, covered[record.id]) for path, record in listed]
    every.sort(key=lambda one: (one.record.cost, one.record.contract, one.record.task.id, one.record.id))
    already = frozenset().union(*(one.covers for one in every if one.is_kept))
    names = set(smallest_cover({one.path: one.covers - already for one in every if not one.is_kept}))
    nominal: dict[str, ReplayRecord] = {}
    remarks: list[str] = []
    for folder in folders:
        made, why = nominal_records(folder, per_category, [*kept.values(), *nominal.values()])
        nominal.update((one.id, one) for one in made)
        remarks.extend(why)
    check_one_suite([*listed, *((Path(one.file_name), one) for one in nominal.values())])
    if not found and not nominal:
        places = ", ".join(map(str, folders))
        told = "; ".join(["there is no counterexample", *remarks])
        raise UsageError(f"{places}: nothing to choose from: {told}.")
    return Suite(
        tuple(one for one in every if one.is_kept or one.path in names),
        tuple(one for one in every if not (one.is_kept or one.path in names)),
        headlines,
        tuple(nominal.values()),
        tuple(remarks),
    )


def check_one_suite(listed: Iterable[tuple[Path, ReplayRecord]]) -> None:
    """Refuse what cannot be one suite.

    Args:
        listed: Records with their files.

    Raises:
        UsageError: They are of several targets, or two different ones have the same name.
    """
    by_name: dict[str, tuple[Path, ReplayRecord]] = {}
    first: tuple[Path, ReplayRecord] | None = None
    for path, record in listed:
        first = first or (path, record)
        if record.target_name != first[1].target_name:
            raise UsageError(
                f"{path} is of the target {record.target_name!r}, and {first[0]} of {first[1].target_name!r}. Make a "
                "suite for each target, in a folder of its own."
            )
        known = by_name.setdefault(path.name, (path, record))
        if known[1].trace_digest != record.trace_digest:
            raise UsageError(
                f"{path} and {known[0]} have the same name and hold different runs. Leave one of the studies out."
            )


def covered_by(
    records: Sequence[ReplayRecord], calls: Mapping[str, Calls | None]
) -> tuple[dict[str, frozenset[Element]], dict[int, str]]:
    """Return what each of some records covers, by its id, and what each cause does, by its number.

    A run without faults covers nothing of it. What is shown in one configuration is not in another.

    Args:
        records: Of one target.
        calls: Of the run without faults of each, by its id, where they are known.
    """
    causes = causes_of({one.id: finding_in(one, calls.get(one.id)) for one in records if not one.is_nominal}.values())
    numbers = {found.id: number for number, cause in enumerate(causes, 1) for found in cause.findings}
    is_alone = len({one.config.name for one in records}) < 2
    covered = {
        one.id: frozenset()
        if one.is_nominal
        else frozenset(
            element._replace(config="" if is_alone else one.config.name)
            for element in (Element(one.contract), *_hits(one, numbers[one.id]))
        )
        for one in records
    }
    return covered, {number: cause.headline for number, cause in enumerate(causes, 1)}


def _hits(record: ReplayRecord, cause: int) -> Iterable[Element]:
    """Yield where the faults of a record land: interface and operation, which are empty where no step shows it."""
    landed = {step.hook: step.operation for step in record.trace.steps if step.landed is not None}
    for injection in record.schedule:
        place = place_of(injection)
        yield Element("", cause, place.interface, landed.get(str(place), ""))


def check_free(suite: Suite, out: Path, removed: Container[Path] = ()) -> None:
    """Refuse to write a suite over files of something else, before anything is written or deleted.

    Args:
        suite: What was chosen.
        out: Its folder.
        removed: Records that are deleted before.

    Raises:
        UsageError: There is such a file.
    """
    for record_path in (out / file_name for file_name in _new_names(suite)):
        if record_path in removed:
            continue
        for path in (record_path, review_path(record_path)):
            if path.exists():
                raise UsageError(f"{path} is there already. Move it, or choose another --out.")


def write_suite(suite: Suite, out: Path) -> None:
    """Write the new records of a suite, each with a text of what is expected of it; all of them or none.

    A counterexample is known and open, a run without faults is expected to hold. A process that is killed leaves no new
    folder, and in one that is there some of the records; the same command with --add adds the others.

    Raises:
        UsageError: The folder cannot be written to.
    """
    draft = (out if out.is_dir() else out.parent) / f".{out.name}{DRAFT_SUFFIX}"
    written: list[Path] = []
    try:
        shutil.rmtree(draft, ignore_errors=True)  # of a process that was killed
        draft.mkdir(parents=True)
        _write_draft(suite, draft)
        if not out.exists():
            draft.rename(out)
            return
        for file_name in _new_names(suite):
            for path in (review_path(draft / file_name), draft / file_name):
                path.replace(out / path.name)
                written.append(out / path.name)
    except BaseException as error:
        for path in written:
            with contextlib.suppress(OSError):
                path.unlink()
        if isinstance(error, OSError):
            raise UsageError(f"{out}: cannot be written to: {error.strerror}. Choose another --out.") from error
        raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _new_names(suite: Suite) -> list[str]:
    return [*(one.path.name for one in suite.new), *(one.file_name for one in suite.nominal)]


def _write_draft(suite: Suite, draft: Path) -> None:
    for one in suite.new:
        copy = draft / one.path.name
        shutil.copyfile(one.path, copy)
        copy.chmod(SHARED_MODE)
        write_review(copy, one.record, Review(expect=Expectation.VIOLATED))
    for record in suite.nominal:
        path = write_record(draft, record)
        path.chmod(SHARED_MODE)
        write_review(path, record, Review(expect=Expectation.HELD))


def records_in_suite(out: Path) -> list[Path]:
    """Return the records in the folder of a suite; none where there is no such folder."""
    return records_below(out) if out.is_dir() else []


def check_reviews(paths: Iterable[Path]) -> None:
    """Refuse a suite with a text beside a record that cannot be read, before anything is written.

    Raises:
        RecordError: There is one, or a record cannot be read.
    """
    for path in paths:
        read_review(path, read_record(path))
