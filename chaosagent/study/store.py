"""The store of a study: every trial and every result in one SQLite file, committed at least once a second."""

from __future__ import annotations

import math
import sqlite3
from pathlib import Path

from chaosagent.clock import monotonic, timestamp
from chaosagent.errors import StudyError, UsageError
from chaosagent.faults.evaluation import Evaluation
from chaosagent.study.evaluator import Experimental
from chaosagent.study.plan import Plan
from chaosagent.study.result import Progress, SearchResult
from chaosagent.study.search import Trial

COMMIT_SECONDS = 0.5
FILE_NAME = "study.db"
_SCHEMA = """
CREATE TABLE study (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE execution (
    id INTEGER PRIMARY KEY,
    task TEXT NOT NULL,
    seed TEXT NOT NULL,
    schedule TEXT NOT NULL,
    status TEXT NOT NULL,
    error TEXT NOT NULL,
    effective TEXT NOT NULL,
    cost REAL NOT NULL,
    digest TEXT NOT NULL,
    ending TEXT NOT NULL,
    success INTEGER,
    steps INTEGER NOT NULL,
    UNIQUE (task, seed, schedule)
);
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
    PRIMARY KEY (task, seed, contract)
) WITHOUT ROWID;
"""


class StudyStore:
    """Writes a study down while it goes on; a `Sink`.

    Make it with `create`, and close it.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path, plan: Plan) -> None:
        self._connection, self._path, self._plan = connection, path, plan
        self._committed = monotonic()

    @classmethod
    def create(cls, folder: Path, plan: Plan, study_text: str) -> StudyStore:
        """Begin the store of a new study.

        Args:
            folder: Of the study; made if it does not exist.
            plan: What the study is to do.
            study_text: The study file as it is run; kept beside the store as `study.yaml`.

        Raises:
            UsageError: The folder holds a study already, or cannot be written to.
        """
        path = folder / FILE_NAME
        if path.exists():
            raise UsageError(
                f"{folder} holds a study already. Choose another folder with --out, or delete {folder} first."
            )
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "study.yaml").write_text(study_text, encoding="utf-8")
            connection = sqlite3.connect(path, isolation_level=None)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.executescript(_SCHEMA)
        except (OSError, sqlite3.Error) as error:
            raise UsageError(f"{folder}: cannot store a study there: {error}. Choose another --out.") from error
        store = cls(connection, path, plan)
        store._begin()
        store._put("plan", plan.digest)
        store._put("target", plan.target_reference)
        store._put("config", plan.config.name)
        store._put("begun", timestamp())
        return store

    def trial(self, at: Experimental, contract: str, trial: Trial) -> None:
        """Keep one told trial."""
        execution = self._execution(at, trial.evaluation)
        verdict = trial.evaluation.verdict(contract)
        self._execute(
            "INSERT INTO trial VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                at.task_id,
                str(at.seed),
                contract,
                trial.number,
                trial.purpose.value,
                execution,
                None if verdict is None else int(verdict.verdict),
                None if verdict is None else verdict.margin,
                None if verdict is None else verdict.unfair,
            ),
        )
        self._commit_in_time()

    def search_over(self, result: SearchResult) -> None:
        """Keep how one search ended."""
        found, certificate = result.counterexample, result.certificate
        self._execute(
            "INSERT OR REPLACE INTO search VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                result.task_id,
                str(result.seed),
                result.contract,
                result.trials,
                result.violated_nominally,
                str(certificate),
                certificate.certified,
                None if math.isinf(certificate.lower_bound) else certificate.lower_bound,
                None if found is None else found.id,
                None if found is None else found.schedule.text,
                None if found is None else found.cost,
            ),
        )
        self._commit_in_time()

    def progress(self, progress: Progress) -> None:
        """Commit what is due."""
        del progress
        self._commit_in_time()

    def close(self, digest: str = "") -> None:
        """Commit everything and close the file."""
        if digest:
            self._put("digest", digest)
        self._put("ended", timestamp())
        self._execute("COMMIT")
        self._connection.close()

    def _execution(self, at: Experimental, evaluation: Evaluation) -> int:
        key = (at.task_id, str(at.seed), str(evaluation.schedule))
        known = self._execute("SELECT id FROM execution WHERE task = ? AND seed = ? AND schedule = ?", key).fetchone()
        if known is not None:
            return int(known[0])
        cursor = self._execute(
            "INSERT INTO execution VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *key,
                evaluation.status.value,
                evaluation.error.encode(errors="backslashreplace").decode(),
                str(evaluation.effective),
                evaluation.effective.declared_cost(self._plan.space.model),
                evaluation.digest,
                evaluation.ending.value,
                evaluation.success,
                evaluation.step_count,
            ),
        )
        return int(cursor.lastrowid or 0)

    def _put(self, key: str, value: str) -> None:
        self._execute("INSERT OR REPLACE INTO study VALUES (?, ?)", (key, value))

    def _execute(self, statement: str, values: tuple[object, ...] = ()) -> sqlite3.Cursor:
        try:
            return self._connection.execute(statement, values)
        except sqlite3.Error as error:
            raise StudyError(f"{self._path}: cannot be written: {error}. What was committed before is kept.") from error

    def _begin(self) -> None:
        self._execute("BEGIN")

    def _commit_in_time(self) -> None:
        now = monotonic()
        if now - self._committed >= COMMIT_SECONDS:
            self._execute("COMMIT")
            self._begin()
            self._committed = now
