"""The store of a study: every trial and every result in one SQLite file, committed at least once a second."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO

from chaosagent.clock import timestamp
from chaosagent.errors import StudyError, UsageError
from chaosagent.execution.answers_on_disk import AnswersOnDisk
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.evaluation_codec import encode_shared
from chaosagent.faults.schedule import Schedule
from chaosagent.sqlite_file import SQLITE_ERRORS
from chaosagent.study.determinism.determinism import Determinism
from chaosagent.study.loop.resume_state import ResumeState
from chaosagent.study.plan import Plan
from chaosagent.study.result import SearchResult, StudyProgress, TaskResult
from chaosagent.study.sink import Sink
from chaosagent.study.store.committer import Committer
from chaosagent.study.store.facts import bounds_in, space_fact
from chaosagent.study.store.files import FILE_NAME, check_removable, clear
from chaosagent.study.store.finished_tasks import counts_by_task, finished_row, read_finished, sum_of
from chaosagent.study.store.foreign_files import refuse_foreign_files
from chaosagent.study.store.lock import LOCK_NAME, lock_folder
from chaosagent.study.store.names import NameWriter
from chaosagent.study.store.opening import (
    OpenStore,
    begin,
    check_resumable,
    lies_still,
    refuse_study_file_of_others,
    resume,
)
from chaosagent.study.store.parts import PartWriter
from chaosagent.study.store.reading import checked_evaluations, counts_in
from chaosagent.study.store.stored_trials import TrialReader
from chaosagent.study.store.tables import (
    Row,
    counterexample_row,
    draw_row,
    execution_row,
    run_key,
    search_row,
    trial_row,
)
from chaosagent.study.task_seed import TaskSeed
from chaosagent.study.trial import Trial
from chaosagent.targets.code import code_of
from chaosagent.whole_file import remove_drafts

BOUND_STEP, BOUNDS_MAX = 0.01, 500
RECENT_MAX = 4096
"""Of how many runs that were kept the row is remembered."""


class StudyStore(Sink):
    """Writes a study down while it runs.

    Make it with `create` or `resume`, and close it.

    Args:
        opened: The open store.
        path: Of the store.
        plan: What the study is to do.
        lock: Of its folder.
        code: Folders with code of the user besides the target's.

    Attributes:
        remarks: What was damaged in the store and in the file of frozen answers, and what became of it; a sentence
            each, without a full stop.
    """

    def __init__(self, opened: OpenStore, path: Path, plan: Plan, lock: IO[str], code: Iterable[Path]) -> None:
        self._connection, self._facts, self.remarks = opened.connection, opened.facts, tuple(opened.remarks)
        self._path, self._plan, self._lock = path, plan, lock
        remove_drafts(path.parent, path.with_name("replays"))
        self._code = tuple(code)
        self._committer = Committer(self._connection, (path, path.with_name(LOCK_NAME)))
        self._inserts: dict[tuple[str, str], str] = {}
        self._failed = False
        self._seconds = 0.0
        self._recent: dict[bytes, int] = {}
        self._bounds = bounds_in(self._facts) or [(0, 0.0)]
        names = dict(self._execute("SELECT id, text FROM name").fetchall())
        self._name = NameWriter(lambda row: self._insert("ABORT", "name", row), names).number_of
        self._parts = PartWriter(self._connection)
        self._next_id = 1 + int(self._execute("SELECT coalesce(max(id), 0) FROM execution").fetchone()[0])
        for text in (*(task.id for task in plan.tasks), *map(str, plan.seeds), *(one.id for one in plan.contracts)):
            self._name(text)
        self._marked: AnswersOnDisk | None = None

    @classmethod
    def create(cls, folder: Path, plan: Plan, study_text: str, *, code: Iterable[Path] = ()) -> StudyStore:
        """Begin the store of a new study.

        Args:
            folder: Of the study; made if it does not exist.
            plan: What the study is to do.
            study_text: The study file as it is run; kept beside the store as `study.yaml`.
            code: Folders with code of the user besides the target's, such as that of contracts.

        Raises:
            StoredDataError: Frozen answers of an earlier study lie there, and cannot be read.
            UsageError: The folder holds a study already, or files of somebody else, or cannot be written to.
        """
        path, copy = folder / FILE_NAME, folder / "study.yaml"
        refuse_foreign_files(folder)
        refuse_study_file_of_others(copy, study_text)
        lock, is_there = lock_folder(folder), copy.exists()
        try:
            if path.exists():  # looked for behind the lock: two processes may have come at once
                raise UsageError(
                    f"{folder} holds a study already. Go on with it (--resume), choose another folder (--out), or "
                    "delete it."
                )
            try:
                copy.write_text(study_text, encoding="utf-8")
                opened = begin(path, plan)
            except (OSError, *SQLITE_ERRORS) as error:
                clear(folder, *([] if is_there else [copy.name]))
                raise UsageError(f"{folder}: cannot store a study there: {error}. Choose another --out.") from error
        except BaseException:
            lock.close()
            raise
        return cls(opened, path, plan, lock, code)

    @classmethod
    def resume(cls, folder: Path, plan: Plan, study_text: str = "", *, code: Iterable[Path] = ()) -> StudyStore:
        """Resume a study that was ended, in whatever way, from its store.

        What is searched may differ, such as budget, limits, tasks or searcher: what was executed is not executed again.
        What is damaged in the store is, if the rest can be trusted; see `remarks`.

        Args:
            folder: Of the study.
            plan: What the study is to do.
            study_text: The study file as it is run, where it differs.
            code: As for `create`.

        Raises:
            OtherStudyError: The runs of the study in the folder were made otherwise.
            StoredDataError: The store is damaged so that nothing in it can be trusted, or of another version.
            UsageError: The folder holds none, it cannot be read, or the target has changed since.
            StudyError: Another process works on it.
        """
        path = folder / FILE_NAME
        refuse_foreign_files(folder)
        if not path.exists():
            raise UsageError(f"{folder} holds no study to go on with. Leave --resume out to begin one.")
        check_resumable(path, plan)
        lock = lock_folder(folder)
        try:
            return cls(resume(path, plan, study_text), path, plan, lock, code)
        except BaseException:
            lock.close()
            raise

    @classmethod
    def remove(cls, folder: Path, plan: Plan, *, unfinished_too: bool = False) -> None:
        """Delete the store of an ended study, so that the same study can be run again; records are kept.

        Args:
            folder: Of the study; nothing is done when it holds none.
            plan: What is to be run again.
            unfinished_too: Delete it although it could be resumed.

        Raises:
            OtherStudyError: The folder holds another study.
            StoredDataError: The store is damaged.
            UsageError: It holds an unfinished one, or something else.
            StudyError: Another process works on it.
        """
        path = folder / FILE_NAME
        refuse_foreign_files(folder)
        if not path.exists():
            return
        if lies_still(path):  # to lock a folder writes to it, and it may be one of others
            check_removable(folder, plan, unfinished_too=unfinished_too)
        with lock_folder(folder):
            check_removable(folder, plan, unfinished_too=unfinished_too)
            clear(folder)

    def earlier(self) -> ResumeState:
        """Return what was done so far, for `Study(..., earlier=...)`.

        No evaluations for a target that declares secrets: what searchers learn from holds them, so it is not stored,
        and the study executes it again.
        """
        found = self._facts.get("stochastic")
        drawn: dict[tuple[TaskSeed, Schedule], list[Evaluation]] = {}
        for at, evaluation in self._evaluations("draw"):
            drawn.setdefault((at, evaluation.schedule), []).append(evaluation)
        unlike = self._execute("SELECT task, seed, difference FROM differing ORDER BY task, seed").fetchall()
        counts = counts_by_task(self._connection)
        return ResumeState(
            stochastic=None if found is None else found == "yes",
            reason=self._facts.get("reason", ""),
            finished=read_finished(self._connection, counts),
            evaluations=lambda finished: self._evaluations("execution", finished),
            drawn=drawn,
            unlike={TaskSeed(task, int(seed)): difference for task, seed, difference in unlike},
            seconds=float(self._facts.get("seconds", "0")),
            counts=sum_of(counts.values()),
            trials=TrialReader(self._execute, self._name).trials_of,
        )

    def _evaluations(self, table: str, but_of: Collection[str] = ()) -> Iterator[tuple[TaskSeed, Evaluation]]:
        return checked_evaluations(self._connection, self._path, self._facts, table, but_of)

    def examined(self, nature: Determinism) -> None:
        """Keep whether the target is deterministic."""
        if nature.stochastic and self._plan.answers is not None and not self._plan.target.secrets:
            self._marked = AnswersOnDisk(self._plan.answers)
        self._put(
            stochastic="yes" if nature.stochastic else "no",
            reason=nature.reason.encode(errors="backslashreplace").decode(),
            code=json.dumps(code_of(self._plan.target, self._code, self._plan.searcher_module)),
        )

    def differed(self, at: TaskSeed, difference: str) -> None:
        """Keep where a repeated run differed."""
        self._insert_counted("differing", (at.task_id, str(at.seed), difference))

    def progress(self, progress: StudyProgress) -> None:
        """Keep how long the study has taken, and after how many runs its bound rose."""
        if progress.seconds - self._seconds >= 1.0:
            self._keep_seconds(progress.seconds)
        if progress.lower_bound >= self._bounds[-1][1] + BOUND_STEP and len(self._bounds) < BOUNDS_MAX:
            self._bounds.append((progress.executions, progress.lower_bound))
            self._put(bounds=json.dumps(self._bounds))

    def commit(self, seconds: float) -> None:
        """Commit what was written so far, so that nobody is told of more than a kill would leave.

        Args:
            seconds: How long the study has taken.

        Raises:
            StudyError: The store cannot be written.
        """
        with self._committer.lock:
            self._keep_seconds(seconds)
            self._execute("COMMIT")
            self._execute("BEGIN")

    def _keep_seconds(self, seconds: float) -> None:
        self._seconds = seconds
        self._put(seconds=f"{seconds:.1f}")

    def executed(self, at: TaskSeed, evaluation: Evaluation) -> None:
        """Keep one run as it ended, whatever searches still wait for."""
        self._execution(at, evaluation)

    def drawn(self, at: TaskSeed, number: int, evaluation: Evaluation) -> None:
        """Keep one fresh run."""
        if not self._plan.target.secrets:
            self._mark_answers()
            self._insert_counted("draw", draw_row(at, number, evaluation))

    def trial(self, at: TaskSeed, contract: str, trial: Trial) -> None:
        """Keep one trial; one that an earlier session has kept stays as it is."""
        search = self._name(at.task_id), self._name(str(at.seed)), self._name(contract)
        self._insert("IGNORE", "trial", trial_row(search, contract, trial, self._execution(at, trial.evaluation)))

    def search_over(self, result: SearchResult) -> None:
        """Keep how one search ended, unless an earlier session came further before this one was interrupted.

        It also came further when it had the time to show more violations.
        """
        where = (result.task_id, str(result.seed), result.contract)
        query = "SELECT 1 FROM search WHERE task = ? AND seed = ? AND contract = ? AND trials > ?"
        if self._execute(query, (*where, result.trials)).fetchone() is not None:
            return
        query = "SELECT count(*) FROM counterexample WHERE task = ? AND seed = ? AND contract = ?"
        if result.unshown and self._execute(query, where).fetchone()[0] > len(result.counterexamples):
            return
        self._insert("REPLACE", "search", search_row(result))
        self._execute("DELETE FROM counterexample WHERE task = ? AND seed = ? AND contract = ?", where)
        for found in result.counterexamples:
            self._insert("REPLACE", "counterexample", counterexample_row(result, found))

    def task_over(self, result: TaskResult) -> None:
        """Keep how a task ended, so that a resumed study need not search it again; nothing of a target with secrets."""
        if not self._plan.target.secrets:
            self._insert("REPLACE", "finished", finished_row(result))

    def note(self, key: str, text: str) -> None:
        """Keep what is known of the runs as a whole, such as what random schedules come to, as a fact of the store."""
        self._put(**{key: text})

    def give_up(self) -> None:
        """Keep that the study failed; unless a search has come to its end, it may be begun anew without ado."""
        if not self._failed and self._execute("SELECT 1 FROM search LIMIT 1").fetchone() is None:
            self._put(failed=timestamp())

    def close(self, digest: str = "", *, committed: Callable[[], object] = lambda: None) -> None:
        """Commit everything and close the file.

        Args:
            digest: Of the study's result, when it has come to its end; without it the study is unfinished.
            committed: Called when all is committed, while nobody else can work in the folder yet.
        """
        self._committer.stop()
        try:
            if not self._failed:  # what failed to be written has been reported, and its transaction is gone
                if digest:
                    self._put(digest=digest, ended=timestamp())
                self._put(counts=counts_in(self._connection), **space_fact(self._plan.space, self._facts))
                self._execute("COMMIT")
                with contextlib.suppress(sqlite3.Error):  # closing would, but for others who look at the file now
                    self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            committed()
        finally:
            self._connection.close()
            self._lock.close()

    def _execution(self, at: TaskSeed, evaluation: Evaluation) -> int:
        key = run_key(at, str(evaluation.schedule))
        recent = self._recent.get(key)  # most runs are told soon; asking for each would double the statements
        if recent is not None:
            return recent
        self._mark_answers()
        number, cost = self._next_id, evaluation.effective.declared_cost(self._plan.space.model)
        if len(self._recent) >= RECENT_MAX:
            self._recent.clear()
        kept = self._execute("SELECT id FROM execution WHERE key = ?", (key,)).fetchone()
        if kept is None:
            place = self._name(at.task_id), self._name(str(at.seed)), at.world
            with self._committer.lock:  # parts and the run that has them are committed together
                parts = self._shared(evaluation)
                row = execution_row(key, place, evaluation, cost, parts, number_of=self._name)
                self._insert("ABORT", "execution", (number, *row))
            self._next_id += 1
        else:
            number = int(kept[0])
        self._recent[key] = number
        return number

    def _shared(self, evaluation: Evaluation) -> bytes | None:
        if self._plan.target.secrets:
            return None
        data = encode_shared(evaluation, self._parts.number_of)
        new = self._parts.new_row()
        if new is not None:
            self._insert("ABORT", "part", new)
        return data

    def _mark_answers(self) -> None:
        """Keep how far the frozen answers are before a run that relies on them, so that missing ones are missed."""
        mark = "" if self._marked is None else self._marked.mark
        if mark and self._facts.get("answers") != mark:
            self._put(answers=mark)

    def _put(self, **changes: str) -> None:
        rows = self._facts.changed(changes)
        marks = ", ".join(["(?, ?, ?)"] * len(rows))
        self._execute(f"INSERT OR REPLACE INTO study VALUES {marks}", [value for row in rows for value in row])

    def _insert(self, conflict: str, table: str, row: Row) -> sqlite3.Cursor:
        statement = self._inserts.get((conflict, table))
        if statement is None:
            marks = "?, " * len(row)
            statement = self._inserts[conflict, table] = f"INSERT OR {conflict} INTO {table} VALUES ({marks}?)"
        return self._execute(statement, (*row, self._facts.checksums.of(table, row)))

    def _insert_counted(self, table: str, row: Row) -> None:
        """Insert or replace a row of a table with a fact that says how many rows it has, in one transaction."""
        with self._committer.lock:
            if self._insert("IGNORE", table, row).rowcount:
                self._put(**{table: str(int(self._facts.get(table, "0")) + 1)})
            else:
                self._insert("REPLACE", table, row)

    def _execute(self, statement: str, values: Sequence[object] = ()) -> sqlite3.Cursor:
        if self._committer.gone is not None:
            self._failed = True
            raise StudyError(
                f"{self._committer.gone} was deleted, moved or replaced while the study was at work, so nothing more "
                "could be kept. Search again, or put back what was moved and go on with --resume."
            )
        try:
            with self._committer.lock:
                if self._committer.error is not None:
                    raise self._committer.error
                return self._connection.execute(statement, values)
        except sqlite3.Error as error:
            self._failed = True
            raise StudyError(
                f"{self._path}: cannot be written: {error}. What was committed before is kept: when that is fixed, "
                "continue with --resume."
            ) from error
