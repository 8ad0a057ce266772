"""How far a study is, in a file of its folder that others can read while it runs: `progress.json`."""

from __future__ import annotations

import contextlib
import json
import os
import platform
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Literal, TypeAlias, cast

from pydantic import Field, TypeAdapter, ValidationError

from chaosagent.canonical import Plain
from chaosagent.clock import monotonic, timestamp
from chaosagent.errors import UsageError
from chaosagent.study.counterexample import Counterexample
from chaosagent.study.plan import Plan
from chaosagent.study.result import SearchResult, StudyProgress
from chaosagent.study.sink import Sink
from chaosagent.whole_file import write_whole

NAME = "progress.json"
FORMAT = 1
WRITE_SECONDS = 1.0
FOUND_MAX = 1_000
BYTES_MAX = 4_000_000

Count: TypeAlias = Annotated[int, Field(ge=0)]
Amount: TypeAlias = Annotated[float, Field(ge=0, allow_inf_nan=False)]
State: TypeAlias = Literal["running", "ended", "interrupted", "out of time", "failed"]


@dataclass(frozen=True, slots=True)
class Found:
    """A counterexample, or the cheapest violation so far of a search that is not over: it has no id yet."""

    task: str
    seed: int
    contract: str
    cost: Amount
    id: str


@dataclass(frozen=True, slots=True)
class LevelSnapshot:
    """How far the searches are at one level of cost; see `chaosagent.study.levels.Level`."""

    cost: Count
    schedules: Count
    trials: Count
    searches_over: Count


@dataclass(frozen=True, slots=True)
class Snapshot:
    """How far a study was at a moment.

    Attributes:
        target: Its reference.
        config: The configuration's name.
        budget: Up to which cost is searched.
        shard: Which part of the study, as `2/8`; empty for all of it.
        state: `running`, `ended`, `interrupted`, `out of time` or `failed`, as the process that works on it says.
        process: Its number.
        host: On which machine.
        begun: When this session began, in UTC.
        written: When this was written, in UTC.
        seconds: Real time of all sessions.
        seconds_max: Limit of that; `None` for none.
        until: Time of day at which the session ends; empty for none.
        searches: How many there are.
        searches_over: How many have ended.
        trials: Told so far.
        trials_max: At most so many will be told.
        executions: Runs so far.
        errors: Of those, ended as errors.
        taken_over: Of the runs, those made with another seed only, as they do not read theirs.
        rate: New trials a second in the last minute.
        found: Violations known so far; those of searches that are not over are not minimised yet.
        best_cost: Of the cheapest.
        lower_bound: Least bound of a search that is not over; it is proved once some of its runs have been repeated.
        current: Which search that is, for people.
        doing: What the study does while it does not search, for people; empty while it searches.
        megabytes: Resident memory of the process.
        levels: Of cost.
        counterexamples: And the cheapest violations of searches that are not over; the first thousand.
    """

    target: str
    config: str
    budget: Amount
    shard: str
    state: State
    process: Count
    host: str
    begun: str
    written: str
    seconds: Amount
    seconds_max: Amount | None
    until: str
    searches: Count
    searches_over: Count
    trials: Count
    trials_max: Count
    executions: Count
    errors: Count
    rate: Amount
    found: Count
    best_cost: Amount | None
    lower_bound: Amount | None
    current: str
    megabytes: Amount
    doing: str = ""
    taken_over: Count = 0
    levels: list[LevelSnapshot] = field(default_factory=list)
    counterexamples: list[Found] = field(default_factory=list)

    def to_json(self) -> dict[str, Plain]:
        """Return it as plain data."""
        return cast("dict[str, Plain]", {"format": FORMAT, **asdict(self)})


class ProgressFile(Sink):
    """Writes it, at most once a second, each time in place of the last one, so that no reader sees half of it.

    Args:
        folder: Of the study.
        plan: Of the study.
        megabytes: Returns the resident memory of this process.
        commit: Called before each time with the seconds that the study has taken: has the store commit what is told.
    """

    def __init__(
        self, folder: Path, plan: Plan, megabytes: Callable[[], float], commit: Callable[[float], object]
    ) -> None:
        self._path, self._plan, self._megabytes, self._commit = folder / NAME, plan, megabytes, commit
        self._begun, self._next = timestamp(), float("-inf")
        self._progress = StudyProgress()
        self._found: dict[tuple[str, int, str], list[Found]] = {}

    def search_over(self, result: SearchResult) -> None:
        where = (result.task_id, result.seed, result.contract)
        self._found[where] = [_found(one) for one in result.counterexamples]

    def progress(self, progress: StudyProgress) -> None:
        self._progress, now = progress, monotonic()
        if now < self._next:
            return
        self._commit(progress.seconds)
        self._write("running")
        self._next = now + WRITE_SECONDS

    def close(self, state: State | None) -> None:
        """Write it once more.

        Args:
            state: How the study ended: any but `running`; nothing is written for `None`, when it did
                not come to that: whoever reads the file sees that its process is gone.
        """
        if state is not None:
            self._write(state)

    def _write(self, state: State) -> None:
        text = json.dumps(self._snapshot(state).to_json(), allow_nan=False)
        with contextlib.suppress(OSError):  # such as a full disk, of which the store says what it means
            write_whole(self._path, text.encode())

    def _snapshot(self, state: State) -> Snapshot:
        plan, progress = self._plan, self._progress
        bound = progress.lower_bound if progress.searches_over < progress.searches else float("inf")
        found = [one for of_search in self._found.values() for one in of_search]
        found += [
            Found(*one, id="")
            for one in progress.violations
            if not self._found.get((one.task_id, one.seed, one.contract))
        ]
        return Snapshot(
            target=plan.target_reference,
            config=plan.config.name,
            budget=plan.budget,
            shard=str(plan.shard),
            state=state,
            process=os.getpid(),
            host=platform.node(),
            begun=self._begun,
            written=timestamp(),
            seconds=round(progress.seconds, 1),
            seconds_max=plan.limits.seconds_max,
            until=plan.limits.until or "",
            searches=progress.searches,
            searches_over=progress.searches_over,
            trials=progress.trials,
            trials_max=plan.limits.trials_max * progress.searches,
            executions=progress.executions,
            errors=progress.errors,
            taken_over=progress.taken_over,
            rate=round(progress.rate, 1),
            found=progress.found,
            best_cost=progress.best_cost,
            lower_bound=bound if bound < float("inf") else None,
            current=progress.current,
            megabytes=round(self._megabytes(), 1),
            doing=progress.doing,
            levels=[LevelSnapshot(*level) for level in progress.levels],
            counterexamples=found[:FOUND_MAX],
        )


def _found(one: Counterexample) -> Found:
    return Found(one.task_id, one.seed, one.contract, one.cost, one.id)


def read_progress(folder: Path) -> Snapshot:
    """Return how far the study in a folder is, or was.

    Raises:
        UsageError: There is none that says so, or the file is damaged or of another version.
    """
    path = folder / NAME
    if path.exists() and not path.is_file():  # to open a pipe may take for ever
        raise UsageError(f"{path}: it is no file. {_REMEDY}")
    try:
        with path.open("rb") as file:
            data = file.read(BYTES_MAX + 1)
        told = json.loads(data)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}. {_REMEDY}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: it is damaged: {error!s:.100}. {_ANEW}") from error
    if isinstance(told, dict) and told.get("format", FORMAT) != FORMAT:
        raise UsageError(
            f"{path}: it has format {told['format']!r:.20}; this version of chaosagent reads {FORMAT}. Look at it with "
            "the version that searches."
        )
    try:
        return TypeAdapter(Snapshot).validate_json(data, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise UsageError(f"{path}: it is damaged: {where:.60}: {first['msg']:.100}. {_ANEW}") from error


_REMEDY = "Name the folder of a study, such as chaosagent-out/NAME, or its study file."
_ANEW = "A running study writes it every second, and so does --resume."
