"""Replaying many records: each against its target, and what people have decided about them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from chaosagent.api.replays.replayed import ReplayedRecord
from chaosagent.api.trusted_records import (
    refuse_foreign_code,
    refuse_other_target,
    refuse_unusable_patterns,
)
from chaosagent.clock import monotonic
from chaosagent.errors import ChaosAgentError, RecordError, StudyError, TargetError, UsageError
from chaosagent.faults.schedule import EMPTY
from chaosagent.importable import make_importable
from chaosagent.replays.outcome import DEFAULT_RUNS_MAX, Failure, Neighbour, Replay, ReplayOutcome, RunsMax
from chaosagent.replays.record import ReplayRecord
from chaosagent.replays.rerun import rerun_exact, rerun_schedule, why_it_hangs
from chaosagent.replays.review import Expectation, Review, read_review, write_review
from chaosagent.replays.store import find_records, read_record, write_record
from chaosagent.replays.today import NominalRuns
from chaosagent.study.loop.gc_pause import rare_full_collections
from chaosagent.targets.loading import load_target
from chaosagent.targets.naming import Reference, reference_of
from chaosagent.targets.target import Target

if TYPE_CHECKING:
    from chaosagent.replays.cold_runs import ColdRuns

MODES = ("schedule", "exact", "both")


class StoredRecord(NamedTuple):
    """A record to be replayed.

    Attributes:
        path: Of its file; for one that has none, the name that its file would have.
        record: What it holds; `None` to read the file.
        has_file: There is such a file, and what was accepted may stand next to it.
        target: The object that was searched, where this process has it.
    """

    path: Path
    record: ReplayRecord | None = None
    has_file: bool = True
    target: Target | None = None

    def read(self) -> ReplayRecord:
        """Return the record.

        Raises:
            RecordError: Its file is no sound record.
        """
        return read_record(self.path) if self.record is None else self.record


class OptionNames(NamedTuple):
    """How messages name what the caller can give: options, or parameters of `chaosagent.replay`."""

    target: str = "--target"
    config: str = "--config"


OPTIONS = OptionNames()


class Writing(NamedTuple):
    """What a replay writes next to records.

    Attributes:
        accept: What has changed, next to each record that is `CHANGED`; from then on it counts.
        promote: That it is expected to hold, next to each record that is `HELD`.
    """

    accept: bool = False
    promote: bool = False


NOTHING_WRITTEN = Writing()


def records_at(paths: Iterable[Path]) -> Iterator[StoredRecord]:
    """Yield the records named, and those below the folders named, in the order of their paths.

    Raises:
        UsageError: A path does not exist, or a folder has no record.
    """
    yield from map(StoredRecord, find_records(paths))


def replay_all(
    stored: Iterable[StoredRecord],
    *,
    mode: str,
    config: str | None = None,
    target: Target | str | None = None,
    runs_max: RunsMax = DEFAULT_RUNS_MAX,
    writing: Writing = NOTHING_WRITTEN,
    words: OptionNames = OPTIONS,
) -> list[ReplayedRecord]:
    """Replay records, in their order: see `Replayer`."""
    with (
        rare_full_collections(),
        closing(
            Replayer(mode=mode, config=config, target=target, runs_max=runs_max, writing=writing, words=words)
        ) as replayer,
    ):
        return [rerun for one in stored for rerun in replayer.replay(one)]


class Replayer:
    """Replays records one after the other; what several need is made once.

    A record may come from a stranger. It is refused, and nothing is imported for it, when it names code by a path that
    leaves the working directory; installed modules, and those in the working directory, are imported as it names them.

    Args:
        mode: `"schedule"`, `"exact"` or `"both"`.
        config: Another configuration, for schedule.
        target: Another target than the records name.
        runs_max: How many runs may be made for a record.
        writing: What is written next to records.
        words: How messages name `target` and `config`.

    Raises:
        UsageError: Something is asked for that only schedules have, and the mode is exact.
    """

    def __init__(
        self,
        *,
        mode: str,
        config: str | None = None,
        target: Target | str | None = None,
        runs_max: RunsMax = DEFAULT_RUNS_MAX,
        writing: Writing = NOTHING_WRITTEN,
        words: OptionNames = OPTIONS,
    ) -> None:
        if mode == "exact":
            asked = ((writing.accept, "--accept"), (writing.promote, "--promote"), (runs_max.neighbours, "--around"))
            for wanted, option in asked:
                if wanted:
                    raise UsageError(f"{option} is for schedules, and --mode is exact. Leave out one of them.")
        self._mode, self._config, self._target, self._runs_max = mode, config, target, runs_max
        self._writing, self._words = writing, words
        self._targets: dict[str, Target] = {}
        self._shared = NominalRuns()
        self._cold = None if mode == "exact" else _cold_runs()

    def close(self) -> None:
        """End the processes in which runs are repeated."""
        if self._cold is not None:
            self._cold.close()

    def replay(self, one: StoredRecord) -> list[ReplayedRecord]:
        """Replay a record, and return the outcome of each way to do so.

        Raises:
            ChaosAgentError: The target or configuration that was asked for does not exist or cannot be used.
        """
        path, given = one.path, one.target if self._target is None else self._target
        accept, promote = self._writing
        try:
            record = one.read()
            refuse_foreign_code(record, trusts_target=given is not None, remedy=self._words.target)
            refuse_unusable_patterns(record)
            loaded = _target_of(record, path, given, self._targets, self._words.target)
            refuse_other_target(record, loaded, self._words.target)
            review = read_review(path, record) if one.has_file else Review()
        except RecordError as error:
            return [ReplayedRecord(path, None, Replay(ReplayOutcome.REFUSED, self._mode, None, _without(path, error)))]
        reruns = []
        named = _named(given, record)
        asked = _Asked(named, self._config, self._runs_max, review, self._shared, self._cold, self._words)
        for way in _modes(record, self._mode):
            begun = monotonic()
            replay = _replay(record, loaded, way, asked)
            if accept and replay.changes and replay.outcome in (ReplayOutcome.CHANGED, ReplayOutcome.VIOLATED):
                replay = _accepted(path, record, loaded, asked, replay)
            if replay.neighbour is not None:
                replay = _kept(replay, replay.neighbour, one, asked)
            rerun = ReplayedRecord(path, record, replay, review.expect, monotonic() - begun)
            is_own = self._config is None and self._target is None
            reruns.append(_promoted(rerun, review, is_own=is_own) if promote and one.has_file else rerun)
        return reruns


def _cold_runs() -> ColdRuns:
    from chaosagent.replays.cold_runs import ColdRuns  # 50 ms, and exact does without

    return ColdRuns(Path.cwd())


def _promoted(rerun: ReplayedRecord, review: Review, *, is_own: bool) -> ReplayedRecord:
    """Write down that a record which holds is expected to, and return its replay with that expectation.

    Args:
        rerun: Of the record.
        review: What was decided about it.
        is_own: The target and configuration are those that the record names.
    """
    record, replay = rerun.record, rerun.replay
    if replay.outcome is not ReplayOutcome.HELD or record is None or review.expect is Expectation.HELD:
        return rerun
    known = record.confirmation
    if known is not None and replay.share_max >= known.violations / max(1, known.runs):
        note = (
            f"not promoted: it broke in {known.violations} of {known.runs} runs when it was found, and may still break "
            f"in a share of up to {replay.share_max:.2f}; make more runs (--draws)"
        )
        return replace(rerun, replay=replace(replay, notes=(*replay.notes, note)))
    try:
        latest = read_review(rerun.path, record)  # what was accepted just now is in it
        changes = (*latest.changes, *replay.changes)
        written = write_review(rerun.path, record, latest._replace(expect=Expectation.HELD, changes=changes))
    except RecordError as error:
        return replace(rerun, replay=replace(replay, notes=(*replay.notes, f"not promoted: {error}")))
    also = "" if is_own else ", also in the configuration and target that it names, where it was not run now"
    note = f"expected to hold from now on{also}: {written}"
    if replay.changes:
        note += ", where it is written down that it breaks another contract, too"
    notes = (*replay.notes, note)
    return replace(rerun, replay=replace(replay, notes=notes), expect=Expectation.HELD)


def _accepted(
    path: Path, record: ReplayRecord, target: Target | ChaosAgentError, asked: _Asked, changed: Replay
) -> Replay:
    """Write down what has changed beside what was reviewed earlier, and return the replay in which it counts."""
    review = asked.review._replace(changes=(*asked.review.changes, *changed.changes))
    try:
        written = write_review(path, record, review)
    except RecordError as error:
        return replace(changed, notes=(*changed.notes, f"not accepted: {error}"))
    replay = _replay(record, target, "schedule", asked._replace(review=review))
    return replace(replay, notes=(*replay.notes, f"written to {written}"))


def _kept(replay: Replay, neighbour: Neighbour, stored: StoredRecord, asked: _Asked) -> Replay:
    """Name today's target in the record of a neighbour, and write it next to the one whose neighbour it is.

    Where that one is known and open, so is the neighbour.
    """
    target = asked.target
    record = neighbour.record if target.only_here else replace(neighbour.record, target_reference=target.text)
    replay = replace(replay, neighbour=neighbour._replace(record=record))
    if not stored.has_file:
        return replay
    there = stored.path.parent / record.file_name
    if there.exists():  # with a proof, and with what people have decided about it
        return replace(replay, notes=(*replay.notes, f"there is a record of it already: {there}"))
    try:
        path = write_record(stored.path.parent, record)
        if asked.review.expect is Expectation.VIOLATED:
            write_review(path, record, Review(expect=Expectation.VIOLATED))
        note = f"saved as {path}"
    except ChaosAgentError as error:
        note = f"not saved: {error}"
    return replace(replay, notes=(*replay.notes, note))


def _modes(record: ReplayRecord, mode: str) -> tuple[str, ...]:
    if mode != "both":
        return (mode,)
    return ("schedule",) if record.has_no_trace else ("exact", "schedule")  # there is nothing to reproduce


def _without(path: Path, error: ChaosAgentError) -> str:
    """Return what an error says, without the path, which stands beside it already."""
    return str(error).removeprefix(str(path)).removeprefix(":").lstrip(" ")


def _named(given: Target | str | None, record: ReplayRecord) -> Reference:
    """Return how another process imports the target of a replay."""
    if not isinstance(given, Target):
        return Reference(record.target_reference if given is None else given)
    module = str(getattr(given.run, "__module__", ""))
    return reference_of(given, "target", defined_in=module, called=given.name, as_file=True)


class _Asked(NamedTuple):
    """How schedules are to be replayed.

    Attributes:
        target: How another process imports the target.
        config: Another configuration; `None` for the record's own.
        runs_max: How many runs may be made for a record.
        review: What was decided about the record.
        shared: The runs without faults that other records have needed.
        cold: Repeats runs in processes of their own; `None` where no schedule is replayed.
        words: How messages name what the caller can give.
    """

    target: Reference
    config: str | None
    runs_max: RunsMax
    review: Review
    shared: NominalRuns
    cold: ColdRuns | None
    words: OptionNames


def _replay(record: ReplayRecord, target: Target | ChaosAgentError, mode: str, asked: _Asked) -> Replay:
    if isinstance(target, ChaosAgentError):
        return Replay(ReplayOutcome.ERROR, mode, None, str(target))
    if mode == "exact" or asked.cold is None:
        return rerun_exact(record, target)
    return _rerun_schedule(record, target, asked, asked.cold)


def _rerun_schedule(record: ReplayRecord, target: Target, asked: _Asked, cold: ColdRuns) -> Replay:
    """Replay a schedule; what is wrong with the record's own names is an outcome, with an option's a mistake.

    One that hung is run in a worker process first, as it may hang again.
    """
    if asked.config is not None:
        target.config(asked.config, asked.words.config)
    elif record.config.name not in target.configs:
        known = ", ".join(target.configs)
        detail = f"target {target.name} has no configuration {record.config.name!r} any more, only {known}"
        return Replay(
            ReplayOutcome.ERROR, "schedule", None, f"{detail}. If it was renamed, name it with {asked.words.config}."
        )
    try:
        if record.has_no_trace:
            if asked.target.only_here:
                raise TargetError(f"a run that hung is replayed in another process, and {asked.target.only_here}")
            from chaosagent.execution.workers.workbench import load_workbench

            names = asked.target.text, asked.config or record.config.name, record.contract_specs
            setup = partial(load_workbench, *names, limits=record.limits, folder=Path.cwd())
            why = why_it_hangs(record, setup)
            if why:
                always = bool(record.schedule) and bool(why_it_hangs(replace(record, schedule=EMPTY), setup))
                where = ", without the faults of the record, too" if always else ""
                detail = f"{record.contract} violated by real time{where}: {why}"
                failure = Failure.OTHER if always else Failure.OWN
                return Replay(ReplayOutcome.VIOLATED, "schedule", None, detail, failure=failure)
        config_name = asked.config or record.config.name
        replay = rerun_schedule(
            record,
            target,
            config_name=asked.config,
            runs_max=asked.runs_max,
            accepted=frozenset(change.digest for change in asked.review.changes),
            shared=asked.shared,
            cold=None if asked.target.only_here else cold.of(record, asked.target.text, config_name),
            is_fixed=asked.review.expect is Expectation.HELD,
        )
        if replay.outcome is not ReplayOutcome.HELD or not asked.target.only_here:
            return replay
        note = f"not repeated in a process of its own, as {asked.target.only_here}"
        return replace(replay, notes=(*replay.notes, note))
    except (UsageError, TargetError, StudyError) as error:
        return Replay(ReplayOutcome.ERROR, "schedule", None, str(error))


def _target_of(
    record: ReplayRecord, path: Path, given: Target | str | None, known: dict[str, Target], remedy: str
) -> Target | ChaosAgentError:
    """Return the target of a record; when it cannot be loaded, the error, which is that record's alone."""
    if isinstance(given, Target):
        return given
    reference = record.target_reference if given is None else given
    if reference not in known:
        try:
            known[reference] = _load(reference, remedy if given is not None else str(path))
        except ChaosAgentError as error:
            if given is not None:
                raise
            full_stop = "" if str(error).endswith(".") else "."
            return ChaosAgentError(f"{_without(path, error)}{full_stop} Name today's target with {remedy}.")
    return known[reference]


def _load(reference: str, where: str) -> Target:
    place = reference.rpartition(":")[0]
    make_importable(Path.cwd())
    if place.endswith(".py"):
        make_importable((Path.cwd() / place).resolve().parent)
    return load_target(reference, where=where)
