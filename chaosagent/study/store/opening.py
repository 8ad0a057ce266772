"""Opening the store of a study: a new one, or one from which a study is resumed; a failure leaves nothing open."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from dataclasses import dataclass, field
from pathlib import Path

from chaosagent.errors import OtherStudyError, StoredDataError, UsageError
from chaosagent.execution.answers_on_disk import AnswersOnDisk, repair_answers
from chaosagent.sqlite_file import SQLITE_ERRORS, objects_in, open_private, text_of
from chaosagent.study.plan import Plan
from chaosagent.study.store.facts import Facts, new_facts, older_facts, read_facts, write_all
from chaosagent.study.store.lock import holder_of
from chaosagent.study.store.reading import has_open_journal, read_only_uri, repair
from chaosagent.study.store.tables import FORGET_RUNS, FORGET_SEARCHES, SCHEMA
from chaosagent.targets.code import changed_code


@dataclass(slots=True)
class OpenStore:
    """An open store.

    Attributes:
        connection: To the store.
        facts: What it says of its study.
        remarks: What was damaged, and what became of it; a sentence each, without a full stop.
    """

    connection: sqlite3.Connection
    facts: Facts
    remarks: list[str] = field(default_factory=list)


def begin(path: Path, plan: Plan) -> OpenStore:
    """Make a store: its tables and what the study is to do, all of it or nothing.

    Raises:
        StoredDataError: A file of frozen answers lies there, and cannot be read.
        OSError: The file cannot be made.
        sqlite3.Error: It cannot be written.
    """
    remarks = _answers_remarks(plan, _remedy(path.parent))
    connection = _connected(path)
    try:
        return OpenStore(connection, _begun(connection, plan), remarks)
    except BaseException:
        connection.close()
        raise


def lies_still(path: Path) -> bool:
    """Whether a store can be read without its folder's lock, and without writing: nobody is at work, or was killed."""
    return holder_of(path.parent) is None and not has_open_journal(path)


def check_resumable(path: Path, plan: Plan) -> None:
    """Refuse what this study cannot be resumed from, before anything is written: it may be a file of others.

    Raises:
        OtherStudyError: Its runs were made otherwise.
        StoredDataError: It is no store, damaged so that nothing in it can be trusted, or of another version.
        UsageError: It holds another shard, or its target was changed since.
    """
    if not lies_still(path):
        return
    remedy = _remedy(path.parent)
    try:
        with contextlib.closing(sqlite3.connect(read_only_uri(path), uri=True)) as connection:
            connection.text_factory = text_of
            if objects_in(connection):
                _check_is_same(read_facts(connection, path, remedy), path.parent, plan, remedy)
    except SQLITE_ERRORS as error:
        raise _unusable(path, error, remedy) from error


def resume(path: Path, plan: Plan, study_text: str) -> OpenStore:
    """Open a store for what is to be searched now; what is damaged in it is taken out, and is run again.

    Raises:
        OtherStudyError: Its runs were made otherwise.
        StoredDataError: It is damaged so that nothing in it can be trusted, or of another version.
        UsageError: Its target was changed since.
    """
    remedy = _remedy(path.parent)
    try:
        opened = _opened(path, plan, remedy)
        try:
            _check_is_same(opened.facts, path.parent, plan, remedy)
            _check_answers(opened, path, plan, remedy)
            _continue_study(opened, path, plan, study_text)
        except BaseException:
            opened.connection.close()
            raise
    except SQLITE_ERRORS as error:
        raise _unusable(path, error, remedy) from error
    except OSError as error:
        raise UsageError(f"{path}: a study cannot be stored there: {error.strerror}. {remedy}") from error
    return opened


def refuse_study_file_of_others(copy: Path, study_text: str) -> None:
    """Refuse to replace a study file that no study has put there, such as the one that is run.

    Args:
        copy: Where the study file of a stored study lies.
        study_text: What would be written there.

    Raises:
        UsageError: Another text lies there.
    """
    is_ours = not copy.is_file() or copy.with_name("records.jsonl").exists()
    if not is_ours and copy.read_text("utf-8", errors="replace") != study_text:
        raise UsageError(
            f"{copy} is there, and a stored study keeps its study file under that name. Choose another --out, such as "
            "chaosagent-out/NAME."
        )


def facts_in(path: Path) -> dict[str, str]:
    """Return what a store of any version says of its study, before it is deleted; nothing when none was begun.

    Raises:
        StoredDataError: It is no store, or damaged.
    """
    remedy = f"Choose another --out, or delete {path.parent}; --resume takes over what is sound, if anything is."
    try:
        with contextlib.closing(sqlite3.connect(read_only_uri(path), uri=True)) as connection:
            connection.text_factory = text_of
            if not objects_in(connection):
                return {}
            facts = older_facts(connection)
            if facts is None:
                facts = dict(read_facts(connection, path, remedy, any_version=True))
            if connection.execute("SELECT 1 FROM execution LIMIT 1").fetchone() is not None:
                facts["begun_running"] = "yes"  # before that there is nothing to lose
            return facts
    except SQLITE_ERRORS as error:
        raise _unusable(path, error, remedy) from error


def _unusable(path: Path, error: Exception, remedy: str) -> StoredDataError:
    is_operational = isinstance(error, sqlite3.OperationalError)  # such as a full disk, or another program's lock
    what = "it cannot be used" if is_operational else "it is no store of a study, or damaged"
    return StoredDataError(str(path), "", f"{what}: {error}", remedy)


def _remedy(folder: Path) -> str:
    return f"Choose another --out, or delete {folder}, to search anew."


def _connected(path: Path) -> sqlite3.Connection:
    connection = open_private(path)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        connection.close()
        raise
    return connection


def _begun(connection: sqlite3.Connection, plan: Plan) -> Facts:
    facts = new_facts(plan)
    connection.executescript(f"BEGIN; {SCHEMA}")
    write_all(connection, facts)
    connection.execute("COMMIT")
    return facts


def _opened(path: Path, plan: Plan, remedy: str) -> OpenStore:
    """Open a store, and repair it if it is damaged."""
    connection = _connected(path)
    try:
        if not objects_in(connection):
            # The first session ended before it had written anything, or somebody has emptied the file.
            return OpenStore(connection, _begun(connection, plan), [f"{path} was empty, so the study begins anew"])
        facts = read_facts(connection, path, remedy)
        mended = repair(connection, path, facts, remedy)
    except BaseException:
        connection.close()
        raise
    return OpenStore(connection, facts) if mended is None else OpenStore(_connected(path), facts, [str(mended)])


def _check_is_same(facts: Facts, folder: Path, plan: Plan, remedy: str) -> None:
    if facts["plan"] != plan.digest and facts["runs"] != plan.runs_digest:
        raise OtherStudyError(str(folder))
    if facts.get("shard", "") != str(plan.shard):
        held, option = "a whole study", "without --shard"
        if "shard" in facts:
            held, option = f"shard {facts['shard']} of a study", f"with --shard {facts['shard']}"
        raise UsageError(f"{folder} holds {held}. Resume it {option}, or choose another --out for another part.")
    changed = changed_code(json.loads(facts.get("code", "{}")))
    if changed:
        raise UsageError(
            f"{', '.join(changed)}: changed since the study in {folder} was begun, so what was run then says nothing "
            f"of today's. {remedy}"
        )


def _check_answers(opened: OpenStore, path: Path, plan: Plan, remedy: str) -> None:
    """Forget the runs that rely on frozen answers if any of these are missing or damaged.

    Sound answers are kept, so that only the others are asked for again; runs with old answers and with new ones do not
    go together.
    """
    mark = opened.facts.get("answers", "")
    if not mark or plan.answers is None:
        opened.remarks.extend(_answers_remarks(plan, remedy))
        return
    if not plan.answers.exists():
        raise StoredDataError(str(plan.answers), "", f"it is missing, and the runs in {path} rely on it", remedy)
    remarks = _answers_remarks(plan, remedy)
    file_id, count = AnswersOnDisk(plan.answers).mark.split()
    if not remarks and file_id == mark.split()[0] and int(count) >= int(mark.split()[1]):
        return
    if not remarks:
        remarks = [f"{plan.answers} is not the file, or not all of it, that the runs in {path} rely on"]
    opened.remarks += [*remarks, f"the runs in {path} relied on all answers, so they are made again"]
    connection, facts = opened.connection, opened.facts
    connection.execute("BEGIN")
    for statement in FORGET_RUNS:
        connection.execute(statement)
    facts["draw"] = "0"
    write_all(connection, facts, without=("answers", "counts"))
    connection.execute("COMMIT")


def _answers_remarks(plan: Plan, remedy: str) -> list[str]:
    mended = None if plan.answers is None else repair_answers(plan.answers, remedy)
    return [] if mended is None else [str(mended)]


def _continue_study(opened: OpenStore, path: Path, plan: Plan, study_text: str) -> None:
    """Make a store ready for what is to be searched now."""
    connection, facts = opened.connection, opened.facts
    forget: tuple[str, ...] = ()
    if facts["plan"] != plan.digest:
        forget = FORGET_SEARCHES
        facts["plan"] = plan.digest
        (path.parent / "study.yaml").write_text(study_text, encoding="utf-8")
    if plan.target.secrets:  # then nothing was kept from which the study could be resumed
        forget = FORGET_RUNS
        facts["draw"] = "0"
    connection.execute("BEGIN")
    for statement in forget:
        connection.execute(statement)
    write_all(connection, facts, without=("ended", "failed", "counts", *(["bounds"] if forget else [])))
    connection.execute("COMMIT")
