"""The trials and searches in a study's folder as typed rows, and rows as a table."""

from __future__ import annotations

import math
import os
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from chaosagent.canonical import Plain
from chaosagent.errors import UsageError
from chaosagent.study.certificate import DIVERGED, NOTHING_PROVED
from chaosagent.study.store.facts import Facts
from chaosagent.study.store.files import FILE_NAME
from chaosagent.study.store.reading import ClosedStore, open_closed_store
from chaosagent.study.store.tables import schedule_text
from chaosagent.studyfile import load_study
from chaosagent.vocabulary import Verdict

if TYPE_CHECKING:
    import pandas

    Frame: TypeAlias = pandas.DataFrame | list[dict[str, Plain]]

STUDY_NAME = "study.yaml"
LEVELS = ("C0", "C1", "C2", "C3", "C4", "S")

_SEARCHED = "SELECT DISTINCT task, seed, contract FROM trial"
_TRIALS = """
SELECT trial.number, trial.purpose, execution.schedule, execution.effective, execution.cost, trial.verdict,
       trial.margin, trial.unfair, execution.error, execution.ending, execution.success, execution.steps,
       execution.digest
FROM trial JOIN execution ON trial.execution = execution.id
WHERE trial.task = ? AND trial.seed = ? AND trial.contract = ? ORDER BY trial.number
"""
_SEARCHES = "SELECT * FROM search ORDER BY task, CAST(seed AS INTEGER), contract"
_DISTURBED = """
SELECT DISTINCT task.text, seed.text FROM execution JOIN name AS task ON execution.task = task.id
JOIN name AS seed ON execution.seed = seed.id WHERE schedule != ''
"""


@dataclass(frozen=True, slots=True)
class Trial:
    """One schedule, run once for one search.

    Attributes:
        task: Id of the task.
        seed: Of the run.
        contract: Id of the contract that is searched.
        number: Place among the trials of the search, from 0.
        purpose: Why it was run.
        schedule: What was injected, in text form; empty for the run without injections.
        landed: What of it landed.
        cost: Of what landed.
        verdict: Of the contract; `None` for a run that could not be executed.
        margin: Of the contract, in [-1, 1], negative where it is violated; `None` where there is none.
        unfair: What the contract requires was not given.
        error: Why the run could not be executed; empty for one that could.
        ending: How the run ended.
        success: Whether the task was done; `None` where that was not said.
        steps: Length of the trace.
        digest: Of the trace.
    """

    task: str
    seed: int
    contract: str
    number: int
    purpose: str
    schedule: str
    landed: str
    cost: float
    verdict: Verdict | None
    margin: float | None
    unfair: bool
    error: str
    ending: str
    success: bool | None
    steps: int
    digest: str

    def to_row(self) -> dict[str, Plain]:
        """Return it as plain data."""
        row: dict[str, Plain] = {name: getattr(self, name) for name in Trial.__slots__}
        return {**row, "verdict": None if self.verdict is None else self.verdict.name}


@dataclass(frozen=True, slots=True)
class Certificate:
    """What one search has proved.

    Attributes:
        task: Id of the task.
        seed: Of the runs.
        contract: Id of the contract that was searched.
        level: `"C0"` to `"C4"`, or `"S"` for a stochastic target; see `docs/proofs.md`.
        lower_bound: No schedule cheaper than this violates the contract; infinite if none within the budget does.
        cost: Of the cheapest counterexample; `None` if there is none.
        certified: The counterexample is proved to be a cheapest one.
        safe: It is proved that nothing within the budget violates the contract, and something could be injected.
        violated_nominally: The run without injections violates the contract, so nothing was searched.
        trials: How many the search had.
        text: The certificate in words.
    """

    task: str
    seed: int
    contract: str
    level: str
    lower_bound: float
    cost: float | None
    certified: bool
    safe: bool
    violated_nominally: bool
    trials: int
    text: str

    def __str__(self) -> str:
        return f"{self.contract} in {self.task}, seed {self.seed}: {self.text}"

    def to_row(self) -> dict[str, Plain]:
        """Return it as plain data; an infinite bound is `None`."""
        row: dict[str, Plain] = {name: getattr(self, name) for name in Certificate.__slots__}
        return {**row, "lower_bound": self.lower_bound if math.isfinite(self.lower_bound) else None}


class Rows(NamedTuple):
    """What the store of an ended study holds.

    Attributes:
        facts: Of the study as a whole.
        budget: Up to which cost schedules were searched.
        wants_several: Several counterexamples of each search were wanted.
        trials: By task, seed, contract and number.
        certificates: By task, seed and contract.
        counterexamples: Ids, in the order of their searches.
    """

    facts: Facts
    budget: float
    wants_several: bool
    trials: tuple[Trial, ...]
    certificates: tuple[Certificate, ...]
    counterexamples: tuple[str, ...]


def store_in(folder: Path) -> Path:
    """Return where the store of a study lies.

    Raises:
        UsageError: The folder holds no study, or may not be read.
    """
    path = folder / FILE_NAME
    if not folder.is_dir():
        what = "is no folder" if folder.exists() else "does not exist"
        raise UsageError(f"{folder} {what}. Name the folder of a study, such as chaosagent-out/NAME.")
    if not os.access(folder, os.R_OK | os.X_OK):
        raise UsageError(f"{folder}: Permission denied. Make it readable, or name another folder.")
    if not path.is_file():
        raise UsageError(
            f"{folder} holds no study: there is no {FILE_NAME}. Name the folder that `chaosagent search` or "
            "`chaosagent.search(..., out=...)` has written; records alone are for `chaosagent replay`."
        )
    return path


def rows_in(folder: Path) -> Rows:
    """Return what the store in a folder holds, after checking it as a whole; nothing is written.

    Args:
        folder: Of the study.

    Raises:
        StoredDataError: The store is damaged, of another version, or its study was killed or is at work.
        UsageError: The folder holds no study, or its study file cannot be read.
    """
    path = store_in(folder)
    with open_closed_store(path) as store:
        connection = store.connection
        connection.text_factory = str  # all rows were checked, so each text is UTF-8; this takes half the time
        settings = load_study(folder / STUDY_NAME).settings
        budget = settings.budget
        return Rows(
            store.facts,
            budget,
            settings.search.all_minimal or settings.search.signatures is not None,
            tuple(_trials(connection)),
            certificates_in(store, budget),
            tuple(row[0] for row in connection.execute("SELECT id FROM counterexample ORDER BY cost, id")),
        )


def certificates_in(store: ClosedStore, budget: float) -> tuple[Certificate, ...]:
    """Return what the searches of a closed store have proved, by task, seed and contract.

    Args:
        store: It was checked as a whole.
        budget: Up to which cost schedules were searched.
    """
    disturbed = set(store.connection.execute(_DISTURBED).fetchall())
    is_stochastic = store.facts.get("stochastic") == "yes"
    return tuple(_certificates(store.connection, budget, disturbed, stochastic=is_stochastic))


def _trials(connection: sqlite3.Connection) -> Iterator[Trial]:
    names = dict(connection.execute("SELECT id, text FROM name").fetchall())
    verdicts: dict[int | None, Verdict | None] = {None: None, **{int(one): one for one in Verdict}}
    searched = connection.execute(_SEARCHED).fetchall()
    searched.sort(key=lambda one: (names[one[0]], int(names[one[1]]), names[one[2]]))
    for search in searched:
        task, seed, contract = (names[number] for number in search)
        for row in connection.execute(_TRIALS, search):
            number, purpose, stored, effective, cost, verdict, margin, unfair, error, ending, success, *rest = row
            schedule = schedule_text(stored, names)
            yield Trial(
                task,
                int(seed),
                contract,
                number,
                purpose,
                schedule,
                schedule if effective is None else schedule_text(effective, names),
                cost,
                verdicts[verdict],
                margin,
                bool(unfair),
                error,
                ending,
                None if success is None else bool(success),
                *rest,
            )


def _certificates(
    connection: sqlite3.Connection, budget: float, disturbed: set[tuple[str, str]], *, stochastic: bool
) -> Iterator[Certificate]:
    rows = connection.execute(_SEARCHES).fetchall()
    # A claim of the searcher that a run has disproved in one search is believed in no other.
    is_disproved = any(row[5].startswith(f"{NOTHING_PROVED}: ") and not row[5].startswith(DIVERGED) for row in rows)
    for task, seed, contract, trials, nominally, text, certified, bound, _, _, cost, _ in rows:
        level = text.partition(":")[0]
        level = level if level in LEVELS and not is_disproved else LEVELS[0]
        bound = math.inf if bound is None else bound
        proves = level not in ("C0", "S") and not stochastic
        # Where nothing could be injected, a proof says nothing.
        safe = proves and cost is None and not nominally and bound > budget and (task, seed) in disturbed
        yield Certificate(
            task=task,
            seed=int(seed),
            contract=contract,
            level=level,
            lower_bound=0.0 if is_disproved else bound,
            cost=cost,
            certified=bool(certified) and not is_disproved,
            safe=safe,
            violated_nominally=bool(nominally),
            trials=trials,
            text=text,
        )


def frame_of(rows: Iterable[dict[str, Plain]]) -> Frame:
    """Return rows as a `pandas.DataFrame`, or as they are where pandas is not installed."""
    listed = list(rows)
    try:
        import pandas
    except ModuleNotFoundError:
        return listed
    return pandas.DataFrame(listed)
