"""The tables of a study's store, and objects as their rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from hashlib import blake2b

from chaosagent.canonical import DIGEST_BYTES, pack_plain
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.evaluation_codec import encode_evaluation
from chaosagent.faults.schedule import Schedule
from chaosagent.sqlite_file import Value
from chaosagent.study.counterexample import Counterexample
from chaosagent.study.result import SearchResult
from chaosagent.study.task_seed import TaskSeed
from chaosagent.study.trial import Trial
from chaosagent.version import version

Row = tuple[Value, ...]


def run_key(at: TaskSeed, schedule: str) -> bytes:
    """Return what a run is found by: a digest of its task, seed, world and schedule."""
    return blake2b(pack_plain([at.task_id, str(at.seed), at.world, schedule]), digest_size=DIGEST_BYTES).digest()


def numbered(schedule: Schedule, number_of: Callable[[str], int]) -> str:
    """Return the numbers of the injections of a schedule, as a run has them.

    Args:
        schedule: Its injections are texts of the table `name`.
        number_of: Returns the number of a text.
    """
    return ",".join([str(number_of(str(injection))) for injection in schedule])


def injection_numbers(stored: str) -> list[int]:
    """Return the numbers of the injections of a stored schedule.

    Raises:
        ValueError: It is damaged.
    """
    return [int(number) for number in stored.split(",")] if stored else []


def schedule_text(stored: str, names: Mapping[int, str]) -> str:
    """Return the text of a stored schedule; the inverse of `numbered`.

    Raises:
        ValueError: It is damaged.
        KeyError: So is a name.
    """
    return "; ".join([names[number] for number in injection_numbers(stored)])


def execution_row(
    key: bytes,
    place: tuple[int, int, int],
    evaluation: Evaluation,
    cost: float,
    parts: bytes | None,
    *,
    number_of: Callable[[str], int],
) -> Row:
    """Return the row of a run, without its id.

    Args:
        key: Of the run; see `run_key`.
        place: Numbers of the names of its task and seed, and the world in which it was made.
        evaluation: What the run told.
        cost: Of what landed.
        parts: What searchers learn from; `None` for a target that declares secrets.
        number_of: Returns the number of the text of an injection.
    """
    schedule, effective = numbered(evaluation.schedule, number_of), numbered(evaluation.effective, number_of)
    return (
        key,
        *place,
        schedule,
        evaluation.status.value,
        _text(evaluation.error),
        None if effective == schedule else effective,
        float(cost),
        evaluation.digest,
        evaluation.ending.value,
        _flag(evaluation.success),
        evaluation.step_count,
        parts,
    )


def draw_row(at: TaskSeed, number: int, evaluation: Evaluation) -> Row:
    """Return the row of a fresh run."""
    return at.task_id, str(at.seed), str(evaluation.schedule), number, encode_evaluation(evaluation)


def trial_row(search: tuple[int, int, int], contract: str, trial: Trial, execution: int) -> Row:
    """Return the row of a trial.

    Args:
        search: Numbers of the names of task, seed and contract.
        contract: Id of the contract that is searched.
        trial: What was run.
        execution: Id of its run.
    """
    verdict = trial.evaluation.verdict(contract)
    told = (None, None, None) if verdict is None else (int(verdict.verdict), _real(verdict.margin), int(verdict.unfair))
    return *search, trial.number, trial.purpose.value, execution, *told


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


FORMAT = 7
"""Of the store; another one is not read. Since 2 evaluations hold when each injection began to act, since 3 rows hold
their checksums, since 4 runs share names and the parts of their evaluations, since 5 the results of tasks are kept,
since 6 runs share the texts of injections, since 7 a run says for which seeds it stands."""


def version_of_store() -> str:
    """Return what a store says of who has written it; one that says something else is refused."""
    return f"{version()}, store format {FORMAT}"


SCHEMA = """
CREATE TABLE study (key TEXT PRIMARY KEY, value TEXT NOT NULL, checksum BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE name (id INTEGER PRIMARY KEY, text TEXT NOT NULL, checksum BLOB NOT NULL);
CREATE TABLE part (
    id INTEGER PRIMARY KEY,
    count INTEGER NOT NULL,
    data BLOB NOT NULL,
    checksum BLOB NOT NULL
);
CREATE TABLE execution (
    id INTEGER PRIMARY KEY,
    key BLOB NOT NULL UNIQUE,
    task INTEGER NOT NULL REFERENCES name (id),
    seed INTEGER NOT NULL REFERENCES name (id),
    world INTEGER NOT NULL,
    schedule TEXT NOT NULL,
    status TEXT NOT NULL,
    error TEXT NOT NULL,
    effective TEXT,
    cost REAL NOT NULL,
    digest TEXT NOT NULL,
    ending TEXT NOT NULL,
    success INTEGER,
    steps INTEGER NOT NULL,
    evaluation BLOB,
    checksum BLOB NOT NULL
);
CREATE VIEW run AS SELECT
    id, task, seed, world,
    (SELECT coalesce(group_concat(text, '; '), '') FROM
        (SELECT name.text FROM json_each('[' || execution.schedule || ']') AS one JOIN name ON name.id = one.value
         ORDER BY one.key)) AS schedule,
    (SELECT coalesce(group_concat(text, '; '), '') FROM
        (SELECT name.text FROM json_each('[' || coalesce(execution.effective, execution.schedule) || ']') AS one
         JOIN name ON name.id = one.value ORDER BY one.key)) AS landed,
    status, error, cost, digest, ending, success, steps
FROM execution;
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
    task INTEGER NOT NULL REFERENCES name (id),
    seed INTEGER NOT NULL REFERENCES name (id),
    contract INTEGER NOT NULL REFERENCES name (id),
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
CREATE TABLE finished (
    task TEXT PRIMARY KEY,
    data BLOB NOT NULL,
    checksum BLOB NOT NULL
) WITHOUT ROWID;
"""
"""The tables of a store.

`name` holds the texts that runs and trials refer to by number: tasks, seeds, contracts and injections. The schedule of
an `execution` is the numbers of its injections, with commas between them, and so is what landed of it (`effective`;
null where all of it landed). The view `run` shows both as texts. `part` holds the parts of evaluations, each once; a
row has `count` of them, numbered from its id. `counterexample` holds all that searches found; the row of a search names
its cheapest. `finished` holds how the tasks ended that are over, so that they need not be searched again.
"""

FORGET_SEARCHES = (
    "DELETE FROM trial",
    "DELETE FROM search",
    "DELETE FROM counterexample",
    "DELETE FROM finished",
)
FORGET_RUNS = (*FORGET_SEARCHES, "DELETE FROM execution", "DELETE FROM part", "DELETE FROM draw")

KEYS = {
    "study": ("key",),
    "name": ("id",),
    "part": ("id",),
    "execution": ("id",),
    "draw": ("task", "seed", "schedule", "number"),
    "differing": ("task", "seed"),
    "trial": ("task", "seed", "contract", "number"),
    "search": ("task", "seed", "contract"),
    "counterexample": ("id",),
    "finished": ("task",),
}
"""The tables with the columns of their keys."""


def row_place(table: str, row: tuple[object, ...]) -> str:
    """Return where a row stands, for messages; the first columns of each table are its key."""
    named = zip(KEYS[table], row, strict=False)
    return f"table {table}, row with {', '.join(f'{column} {value!r:.60}' for column, value in named)}"
