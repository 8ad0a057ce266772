"""The tables of a study's store, and objects as their rows."""

from __future__ import annotations

import math
from hashlib import blake2b

from chaosagent.faults.evaluation import Evaluation
from chaosagent.sqlite_file import Value
from chaosagent.study.counterexample import Counterexample
from chaosagent.study.result import SearchResult
from chaosagent.study.store.evaluation_codec import encode_evaluation
from chaosagent.study.task_seed import TaskSeed
from chaosagent.study.trial import Trial
from chaosagent.version import version

Row = tuple[Value, ...]


def execution_row(
    at: TaskSeed, evaluation: Evaluation, cost: float, dictionary: int | None, packed: bytes | None
) -> Row:
    """Return the row of a run, without its id.

    Args:
        at: Task, seed and world.
        evaluation: What the run told.
        cost: Of what landed.
        dictionary: With which the evaluation was compressed.
        packed: The evaluation, compressed; `None` to leave out what searchers learn from.
    """
    schedule, effective = str(evaluation.schedule), str(evaluation.effective)
    return (
        *run_key(at, schedule),
        schedule,
        evaluation.status.value,
        _text(evaluation.error),
        None if effective == schedule else effective,
        float(cost),
        bytes.fromhex(evaluation.digest),
        evaluation.ending.value,
        _flag(evaluation.success),
        evaluation.step_count,
        dictionary,
        packed,
    )


def run_key(at: TaskSeed, schedule: str) -> tuple[str, str, int, bytes]:
    """Return what tells a run from others: its task, seed and world, and a digest of its schedule, which is shorter."""
    return at.task_id, str(at.seed), at.world, blake2b(schedule.encode(), digest_size=SCHEDULE_DIGEST_BYTES).digest()


def draw_row(at: TaskSeed, number: int, evaluation: Evaluation) -> Row:
    """Return the row of a fresh run."""
    return at.task_id, str(at.seed), str(evaluation.schedule), number, encode_evaluation(evaluation)


def trial_row(at: TaskSeed, contract: str, trial: Trial, execution: int) -> Row:
    """Return the row of a trial.

    Args:
        at: Task and seed.
        contract: Id of the contract that is searched.
        trial: What was run.
        execution: Id of its run.
    """
    verdict = trial.evaluation.verdict(contract)
    told = (None, None, None) if verdict is None else (int(verdict.verdict), _real(verdict.margin), int(verdict.unfair))
    return at.task_id, str(at.seed), contract, trial.number, trial.purpose.value, execution, *told


def search_row(result: SearchResult) -> Row:
    """Return the row of a search that has ended."""
    found, certificate = result.counterexample, result.certificate
    return (
        result.task_id,
        str(result.seed),
        result.contract,
        result.trials,
        int(result.violated_nominally),
        str(certificate),
        int(certificate.certified and certificate.proved),
        None if math.isinf(certificate.lower_bound) else _real(certificate.lower_bound),
        None if found is None else found.id,
        None if found is None else found.schedule.text,
        None if found is None else _real(found.cost),
    )


def counterexample_row(result: SearchResult, found: Counterexample) -> Row:
    """Return the row of a counterexample of a search."""
    return (
        found.id,
        result.task_id,
        str(result.seed),
        result.contract,
        found.schedule.text,
        float(found.cost),
        _text(str(found.signature)),
        int(certified_of(found)),
    )


def certified_of(found: Counterexample) -> bool:
    """Whether a counterexample is proved to be a cheapest one."""
    return found.certificate.proved and found.certificate.certified


def _text(text: str) -> str:
    return text.encode(errors="backslashreplace").decode()


def _flag(value: bool | None) -> int | None:  # noqa: FBT001  # a column
    return None if value is None else int(value)


def _real(value: float) -> float | None:
    """Return a number as SQLite keeps it, which has neither NaN nor a negative zero."""
    return None if math.isnan(value) else value + 0.0


FORMAT = 4
"""Of the store; another one is not read. Since 2 evaluations hold when each injection began to act, since 3 rows hold
their checksums, since 4 evaluations are compressed."""
SCHEDULE_DIGEST_BYTES = 10


def version_of_store() -> str:
    """Return what a store says of who has written it; one that says something else is refused."""
    return f"{version()}, store format {FORMAT}"


SCHEMA = """
CREATE TABLE study (key TEXT PRIMARY KEY, value TEXT NOT NULL, checksum BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE dictionary (
    id INTEGER PRIMARY KEY,
    task TEXT NOT NULL,
    seed TEXT NOT NULL,
    data BLOB NOT NULL,
    checksum BLOB NOT NULL
);
CREATE TABLE execution (
    id INTEGER PRIMARY KEY,
    task TEXT NOT NULL,
    seed TEXT NOT NULL,
    world INTEGER NOT NULL,
    mark BLOB NOT NULL,
    schedule TEXT NOT NULL,
    status TEXT NOT NULL,
    error TEXT NOT NULL,
    effective TEXT,
    cost REAL NOT NULL,
    digest BLOB NOT NULL,
    ending TEXT NOT NULL,
    success INTEGER,
    steps INTEGER NOT NULL,
    dictionary INTEGER REFERENCES dictionary (id),
    evaluation BLOB,
    checksum BLOB NOT NULL,
    UNIQUE (task, seed, world, mark)
);
CREATE TABLE draw (
    task TEXT NOT NULL,
    seed TEXT NOT NULL,
    schedule TEXT NOT NULL,
    number INTEGER NOT NULL,
    evaluation BLOB NOT NULL,
    checksum BLOB NOT NULL,
    PRIMARY KEY (task, seed, schedule, number)
) WITHOUT ROWID;
CREATE TABLE differing (
    task TEXT NOT NULL,
    seed TEXT NOT NULL,
    difference TEXT NOT NULL,
    checksum BLOB NOT NULL,
    PRIMARY KEY (task, seed)
) WITHOUT ROWID;
CREATE TABLE trial (
    task TEXT NOT NULL,
    seed TEXT NOT NULL,
    contract TEXT NOT NULL,
    number INTEGER NOT NULL,
    purpose TEXT NOT NULL,
    execution INTEGER NOT NULL REFERENCES execution (id),
    verdict INTEGER,
    margin REAL,
    unfair INTEGER,
    checksum BLOB NOT NULL,
    PRIMARY KEY (task, seed, contract, number)
) WITHOUT ROWID;
CREATE TABLE search (
    task TEXT NOT NULL,
    seed TEXT NOT NULL,
    contract TEXT NOT NULL,
    trials INTEGER NOT NULL,
    violated_nominally INTEGER NOT NULL,
    certificate TEXT NOT NULL,
    certified INTEGER NOT NULL,
    lower_bound REAL,
    counterexample TEXT,
    schedule TEXT,
    cost REAL,
    checksum BLOB NOT NULL,
    PRIMARY KEY (task, seed, contract)
) WITHOUT ROWID;
CREATE TABLE counterexample (
    id TEXT PRIMARY KEY,
    task TEXT NOT NULL,
    seed TEXT NOT NULL,
    contract TEXT NOT NULL,
    schedule TEXT NOT NULL,
    cost REAL NOT NULL,
    signature TEXT NOT NULL,
    certified INTEGER NOT NULL,
    checksum BLOB NOT NULL
) WITHOUT ROWID;
"""
"""Of the table `execution`: `mark` is a digest of the schedule, `effective` is left out where all of it landed, and
`dictionary` says with what `evaluation` is compressed. Of the table `counterexample`: all that searches found; the row
of a search names its cheapest."""

FORGET_SEARCHES = ("DELETE FROM trial", "DELETE FROM search", "DELETE FROM counterexample")
FORGET_RUNS = (*FORGET_SEARCHES, "DELETE FROM execution", "DELETE FROM dictionary", "DELETE FROM draw")

KEYS = {
    "study": ("key",),
    "dictionary": ("id",),
    "execution": ("id",),
    "draw": ("task", "seed", "schedule", "number"),
    "differing": ("task", "seed"),
    "trial": ("task", "seed", "contract", "number"),
    "search": ("task", "seed", "contract"),
    "counterexample": ("id",),
}
"""The tables with the columns of their keys."""


def row_place(table: str, row: tuple[object, ...]) -> str:
    """Return where a row stands, for messages; the first columns of each table are its key."""
    named = zip(KEYS[table], row, strict=False)
    return f"table {table}, row with {', '.join(f'{column} {value!r:.60}' for column, value in named)}"
