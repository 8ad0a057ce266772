"""The store of a study: every trial and every result in one SQLite file, committed at least once a second."""

from __future__ import annotations

import contextlib
import json
import math
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from chaosagent.clock import timestamp
from chaosagent.errors import OtherStudyError, StudyError, UsageError
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.schedule import Schedule
from chaosagent.study.committer import Committer
from chaosagent.study.determinism import Nature
from chaosagent.study.earlier import Earlier
from chaosagent.study.evaluator import Experimental
from chaosagent.study.lock import locked
from chaosagent.study.plan import Plan
from chaosagent.study.result import Progress, SearchResult
from chaosagent.study.schema import COUNTEREXAMPLES, FORGET_SEARCHES, SCHEMA, version_of_store
from chaosagent.study.sink import Sink
from chaosagent.study.stored import decode_evaluation, encode_evaluation
from chaosagent.study.trial import Trial
from chaosagent.targets.code import changed_code, code_of

FILE_NAME = "study.db"
ANSWERS_NAME = "answers.db"
RECENT_MAX = 4096
"""Of how many runs that were kept the row is remembered."""


def _facts(path: Path) -> dict[str, str]:
    """Return what a store says of its study; nothing when it has not come to that."""
    # A finished store is read as it lies, so that nothing is written beside it; a killed one needs its journal.
    mode = "mode=rw" if path.with_name(f"{FILE_NAME}-wal").exists() else "immutable=1"
    try:
        with contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?{mode}", uri=True)) as connection:
            if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'study'").fetchone() is None:
                return {}
            facts = dict(connection.execute("SELECT key, value FROM study"))
            if connection.execute("SELECT 1 FROM execution LIMIT 1").fetchone() is not None:
                facts["begun_running"] = "yes"  # before that there is nothing to lose
            return facts
    except sqlite3.Error as error:
        raise UsageError(f"{path} is no store of a study: {error}. Choose another --out, or delete it.") from error


def _clear(folder: Path, *others: str) -> None:
    """Delete the store in a folder, and other files of its study."""
    stores = [name + ending for name in (FILE_NAME, ANSWERS_NAME) for ending in ("", "-wal", "-shm")]
    for name in (*stores, *others):
        with contextlib.suppress(IsADirectoryError):  # not ours
            (folder / name).unlink(missing_ok=True)


def _opened(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def _begin_study(connection: sqlite3.Connection, plan: Plan) -> None:
    """Write the tables and what the study is to do, all of it or nothing."""
    connection.executescript(f"BEGIN; {SCHEMA} {COUNTEREXAMPLES}")
    facts = {
        "plan": plan.digest,
        "runs": plan.runs_digest,
        "chaosagent": version_of_store(),
        "target": plan.target_reference,
        "config": plan.config.name,
        "begun": timestamp(),
    }
    connection.executemany("INSERT INTO study VALUES (?, ?)", facts.items())
    connection.execute("COMMIT")


def _go_on(connection: sqlite3.Connection, folder: Path, plan: Plan, study_text: str) -> None:
    """Make a store ready for what is to be searched now.

    Raises:
        OtherStudyError: Its runs were made otherwise.
        UsageError: Its runs were made by another version, of the target or of chaosagent.
    """
    facts = dict(connection.execute("SELECT key, value FROM study"))
    if facts["plan"] != plan.digest and facts.get("runs") != plan.runs_digest:
        raise OtherStudyError(str(folder))
    remedy = f"Search anew, in another folder (--out) or after deleting {folder}."
    version = version_of_store()
    if facts.get("chaosagent") != version:
        raise UsageError(
            f"{folder} holds a study of chaosagent {facts.get('chaosagent')}; this is {version}, whose runs may "
            f"differ. {remedy}"
        )
    changed = changed_code(json.loads(facts.get("code", "{}")))
    if changed:
        raise UsageError(
            f"{', '.join(changed)}: changed since the study in {folder} was begun, so what was run then says nothing "
            f"of today's. {remedy}"
        )
    connection.executescript(COUNTEREXAMPLES)  # studies of the first versions had no such table
    if plan.target.secrets:  # then nothing was kept from which the study could go on
        connection.executescript(f"{FORGET_SEARCHES} DELETE FROM execution; DELETE FROM draw;")
    if facts["plan"] != plan.digest:
        connection.executescript(FORGET_SEARCHES)
        connection.execute("UPDATE study SET value = ? WHERE key = 'plan'", (plan.digest,))
        (folder / "study.yaml").write_text(study_text, encoding="utf-8")
    connection.execute("DELETE FROM study WHERE key IN ('ended', 'failed')")


class StudyStore(Sink):
    """Writes a study down while it goes on.

    Make it with `create` or `resume`, and close it.
    """

    def __init__(
        self, connection: sqlite3.Connection, path: Path, plan: Plan, lock: IO[str], code: Iterable[Path]
    ) -> None:
        self._connection, self._path, self._plan, self._lock = connection, path, plan, lock
        self._code = tuple(code)
        self._committer = Committer(connection)
        self._recent: dict[tuple[str, str, int, str], int] = {}
        self._failed = False
        self._seconds = 0.0

    @classmethod
    def create(cls, folder: Path, plan: Plan, study_text: str, *, code: Iterable[Path] = ()) -> StudyStore:
        """Begin the store of a new study.

        Args:
            folder: Of the study; made if it does not exist.
            plan: What the study is to do.
            study_text: The study file as it is run; kept beside the store as `study.yaml`.
            code: Folders with code of the user besides the target's, such as that of contracts.

        Raises:
            UsageError: The folder holds a study already, or cannot be written to.
        """
        path = folder / FILE_NAME
        lock = locked(folder)
        if path.exists():  # looked for behind the lock: two processes may have come at once
            lock.close()
            raise UsageError(
                f"{folder} holds a study already. Go on with it (--resume), choose another folder (--out), or "
                "delete it."
            )
        connection = None
        try:
            (folder / "study.yaml").write_text(study_text, encoding="utf-8")
            connection = _opened(path)
            _begin_study(connection, plan)
        except (OSError, sqlite3.Error) as error:
            if connection is not None:
                connection.close()
            _clear(folder, "study.yaml")
            lock.close()
            raise UsageError(f"{folder}: cannot store a study there: {error}. Choose another --out.") from error
        return cls(connection, path, plan, lock, code)

    @classmethod
    def resume(cls, folder: Path, plan: Plan, study_text: str = "", *, code: Iterable[Path] = ()) -> StudyStore:
        """Go on with the store of a study that was ended, in whatever way.

        What is searched may differ, such as budget, limits, tasks or searcher: what was executed is not executed again.

        Args:
            folder: Of the study.
            plan: What the study is to do.
            study_text: The study file as it is run, where it differs.
            code: As for `create`.

        Raises:
            OtherStudyError: The runs of the study in the folder were made otherwise.
            UsageError: The folder holds none, it cannot be read, or the target has changed since.
            StudyError: Another process works on it.
        """
        path = folder / FILE_NAME
        if not path.exists():
            raise UsageError(f"{folder} holds no study to go on with. Leave --resume out to begin one.")
        lock = locked(folder)
        connection = None
        try:
            connection = _opened(path)
            begun = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'study'").fetchone()
            if begun is None:
                _begin_study(connection, plan)  # the first session was ended before it had written anything
            _go_on(connection, folder, plan, study_text)
        except (OSError, sqlite3.Error) as error:
            lock.close()
            raise UsageError(f"{path} cannot be read: {error}. Choose another --out, or delete {folder}.") from error
        except UsageError:
            if connection is not None:
                connection.close()
            lock.close()
            raise
        return cls(connection, path, plan, lock, code)

    @classmethod
    def remove(cls, folder: Path, plan: Plan, *, unfinished_too: bool = False) -> None:
        """Delete the store of an ended study, so that the same study can be run again; records are kept.

        Args:
            folder: Of the study; nothing is done when it holds none.
            plan: What is to be run again.
            unfinished_too: Delete it although it could be resumed.

        Raises:
            OtherStudyError: The folder holds another study.
            UsageError: It holds an unfinished one, or something else.
            StudyError: Another process works on it.
        """
        path = folder / FILE_NAME
        if not path.exists():
            return
        with locked(folder):
            facts = _facts(path)
            if facts.get("plan", plan.digest) != plan.digest:
                raise OtherStudyError(str(folder))
            over = "ended" in facts or "failed" in facts
            if "begun_running" in facts and not over and not unfinished_too:
                raise UsageError(
                    f"{folder} holds an unfinished run of this study. Go on with it (--resume), choose another folder "
                    f"(--out), or delete {folder} first."
                )
            _clear(folder)

    def earlier(self) -> Earlier:
        """Return what was done so far, for `Study(..., earlier=...)`.

        No evaluations for a target that declares secrets: what searchers learn from holds them, so it is not stored,
        and the study executes it again.
        """
        found = self._execute("SELECT value FROM study WHERE key = 'stochastic'").fetchone()
        drawn: dict[tuple[Experimental, Schedule], list[Evaluation]] = {}
        rows = self._execute("SELECT task, seed, evaluation FROM draw ORDER BY task, seed, schedule, number")
        for task, seed, data in rows:
            evaluation = decode_evaluation(data)
            drawn.setdefault((Experimental(task, int(seed)), evaluation.schedule), []).append(evaluation)
        spent = self._execute("SELECT value FROM study WHERE key = 'seconds'").fetchone()
        unlike = self._execute("SELECT task, seed, difference FROM differing ORDER BY task, seed").fetchall()
        return Earlier(
            stochastic=None if found is None else found[0] == "yes",
            evaluations=self._evaluations(),
            drawn=drawn,
            unlike={Experimental(task, int(seed)): difference for task, seed, difference in unlike},
            seconds=0.0 if spent is None else float(spent[0]),
        )

    def _evaluations(self) -> Iterator[tuple[Experimental, Evaluation]]:
        rows = self._execute(
            "SELECT task, seed, world, evaluation FROM execution WHERE evaluation IS NOT NULL ORDER BY id"
        )
        for task, seed, world, data in rows:
            yield Experimental(task, int(seed), world), decode_evaluation(data)

    def examined(self, nature: Nature) -> None:
        """Keep whether the target is deterministic."""
        self._put("stochastic", "yes" if nature.stochastic else "no")
        self._put("code", json.dumps(code_of(self._plan.target, self._code, self._plan.searcher_module)))

    def differed(self, at: Experimental, difference: str) -> None:
        """Keep where a repeated run differed."""
        self._execute("INSERT OR REPLACE INTO differing VALUES (?, ?, ?)", (at.task_id, str(at.seed), difference))

    def progress(self, progress: Progress) -> None:
        """Keep how long the study has taken."""
        if progress.seconds - self._seconds >= 1.0:
            self._seconds = progress.seconds
            self._put("seconds", f"{progress.seconds:.1f}")

    def executed(self, at: Experimental, evaluation: Evaluation) -> None:
        """Keep one run as it ended, whatever searches still wait for."""
        self._execution(at, evaluation)

    def drawn(self, at: Experimental, number: int, evaluation: Evaluation) -> None:
        """Keep one fresh run."""
        if not self._plan.target.secrets:
            self._execute(
                "INSERT OR REPLACE INTO draw VALUES (?, ?, ?, ?, ?)",
                (at.task_id, str(at.seed), str(evaluation.schedule), number, encode_evaluation(evaluation)),
            )

    def trial(self, at: Experimental, contract: str, trial: Trial) -> None:
        """Keep one told trial; one that an earlier session has kept stays as it is."""
        execution = self._execution(at, trial.evaluation)
        verdict = trial.evaluation.verdict(contract)
        self._execute(
            "INSERT OR IGNORE INTO trial VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
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
                certificate.certified and certificate.proved,
                None if math.isinf(certificate.lower_bound) else certificate.lower_bound,
                None if found is None else found.id,
                None if found is None else found.schedule.text,
                None if found is None else found.cost,
            ),
        )
        where = (result.task_id, str(result.seed), result.contract)
        self._execute("DELETE FROM counterexample WHERE task = ? AND seed = ? AND contract = ?", where)
        for one in result.counterexamples:
            told = str(one.signature).encode(errors="backslashreplace").decode()
            row = one.id, *where, one.schedule.text, one.cost, told, certificate.proved and one.certificate.certified
            self._execute("INSERT OR REPLACE INTO counterexample VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    def give_up(self) -> None:
        """Keep that the study failed; unless a search has come to its end, it may be begun anew without ado."""
        if not self._failed and self._execute("SELECT 1 FROM search LIMIT 1").fetchone() is None:
            self._put("failed", timestamp())

    def close(self, digest: str = "") -> None:
        """Commit everything and close the file.

        Args:
            digest: Of the study's result, when it has come to its end; without it the study is unfinished.
        """
        self._committer.stop()
        try:
            if not self._failed:  # what failed to be written has been told, and its transaction is gone
                if digest:
                    self._put("digest", digest)
                    self._put("ended", timestamp())
                self._execute("COMMIT")
        finally:
            self._connection.close()
            self._lock.close()

    def _execution(self, at: Experimental, evaluation: Evaluation) -> int:
        key = (at.task_id, str(at.seed), at.world, str(evaluation.schedule))
        recent = self._recent.get(key)  # most runs are told soon; asking for each would double the statements
        if recent is not None:
            return recent
        cursor = self._execute(
            "INSERT INTO execution VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
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
                None if self._plan.target.secrets else encode_evaluation(evaluation),
            ),
        )
        if len(self._recent) >= RECENT_MAX:
            self._recent.clear()
        if cursor.rowcount:
            number = int(cursor.lastrowid or 0)
        else:  # it was kept before
            where = "task = ? AND seed = ? AND world = ? AND schedule = ?"
            number = int(self._execute(f"SELECT id FROM execution WHERE {where}", key).fetchone()[0])
        self._recent[key] = number
        return number

    def _put(self, key: str, value: str) -> None:
        self._execute("INSERT OR REPLACE INTO study VALUES (?, ?)", (key, value))

    def _execute(self, statement: str, values: tuple[object, ...] = ()) -> sqlite3.Cursor:
        try:
            with self._committer.lock:
                if self._committer.error is not None:
                    raise self._committer.error
                return self._connection.execute(statement, values)
        except sqlite3.Error as error:
            self._failed = True
            raise StudyError(
                f"{self._path}: cannot be written: {error}. What was committed before is kept: when that is mended, "
                "go on with --resume."
            ) from error
