"""One damaged file: made from a seed, used, and judged."""

from __future__ import annotations

import functools
import random
import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from chaosagent.errors import UsageError
from chaosagent.experiments.small_model.memory_served import served_in
from chaosagent.sqlite_file import SQLITE_ERRORS
from chaosagent.study.store.files import ANSWERS_NAME, FILE_NAME
from chaosagent.study.store.study_store import StudyStore
from tests.lab.damage import answer_files
from tests.lab.damage.damaged_bytes import damage_bytes
from tests.lab.damage.damaged_rows import damage_rows
from tests.lab.damage.outcome import Case, outcome_and_leaks
from tests.lab.damage.stores import PLANS, Template, essence, rows_in, run, templates

PRIVATE = ("study.db", "answers.db", "memo.db")


@functools.cache
def made_templates() -> list[Template]:
    """Make the templates of this process, once."""
    return templates(Path(tempfile.mkdtemp(prefix="chaosagent-damage-")))


def attack_store(number: int) -> Case:
    """Damage a store, and resume it, search its folder anew, or read it."""
    rng = random.Random(f"store {number}")
    template = rng.choice(made_templates())
    use, name = rng.choices(list(USES), weights=[7, 2, 1])[0], FILE_NAME
    if use == "read":
        template = next(one for one in made_templates() if (one.kind, one.state) == ("stochastic", "ended"))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "study"
        shutil.copytree(template.folder, folder)
        if template.state == "killed" and rng.random() < 0.3:
            name = f"{FILE_NAME}-wal"
        damage = _damaged(folder / name, rng, rows=name == FILE_NAME)
        return _case(
            number, f"{template.kind}, {template.state}: {damage}", use, folder, lambda: USES[use](template, folder)
        )


def attack_answers(number: int) -> Case:
    """Damage a file of answers, and ask it again, or resume the study that it belongs to."""
    rng = random.Random(f"answers {number}")
    use = rng.choices(["ask", "mend and ask", "resume"], weights=[2, 2, 2])[0]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "study"
        if use != "resume":
            folder.mkdir()
            path = folder / ANSWERS_NAME
            answer_files.make(path)
            damage = _damaged(path, rng)
            return _case(number, damage, use, folder, lambda: answer_files.read(path, mended=use != "ask"))
        template = rng.choice([one for one in made_templates() if one.kind == "stochastic"])
        shutil.copytree(template.folder, folder)
        damage = _damaged(folder / ANSWERS_NAME, rng)
        return _case(number, f"{template.state}: {damage}", use, folder, lambda: _resume(template, folder))


def _damaged(path: Path, rng: random.Random, *, rows: bool = True) -> str:
    """Damage a file by bytes or by rows, and return how; another way when one changes nothing."""
    if rows and rng.random() < 0.5:
        before = _dumped(path)
        while True:
            how = damage_rows(path, rng)
            if _dumped(path) != before:
                return how
    before_bytes = path.read_bytes()
    while True:
        how = damage_bytes(path, rng)
        if path.read_bytes() != before_bytes:
            return how


def _dumped(path: Path) -> list[str]:
    """Return all that a file holds."""
    with closing(sqlite3.connect(path)) as connection:
        try:
            tables = connection.execute("SELECT name, sql FROM sqlite_master").fetchall()
            connection.text_factory = bytes.hex
            names = [name for name, sql in tables if sql and sql.startswith("CREATE TABLE")]
            return [repr(tables), *(repr(row) for name in names for row in connection.execute(f"SELECT * FROM {name}"))]
        except SQLITE_ERRORS as error:
            return [str(error)]


def _case(number: int, damage: str, use: str, folder: Path, work: Callable[[], str]) -> Case:
    outcome, detail, leaked = outcome_and_leaks(work)
    readable = sorted(
        path.name
        for path in folder.iterdir()
        if path.name.startswith(PRIVATE) and stat.S_IMODE(path.stat().st_mode) != 0o600
    )
    return Case(number, damage, use, outcome, detail, leaked, tuple(readable))


def _resume(template: Template, folder: Path) -> str:
    is_empty = not (folder / FILE_NAME).stat().st_size and not (folder / f"{FILE_NAME}-wal").exists()
    result = essence(run(folder, PLANS[template.kind](folder), resume=True))
    if is_empty and result == template.fresh:
        return ""  # nothing of it was taken over, and the study says so
    if result != template.expected:
        return f"{result!r:.2000} instead of {template.expected!r:.2000}"
    rows = rows_in(folder)
    differing = [name for name, expected in template.rows.items() if rows[name] != expected]
    return f"rows of {', '.join(differing)}" if differing else ""


def _search_anew(template: Template, folder: Path) -> str:
    """Do what `chaosagent search` does without --resume: an ended study makes room, an unfinished one does not."""
    before = _executions(folder)
    try:
        StudyStore.remove(folder, PLANS[template.kind](folder))
    except UsageError as error:
        if "unfinished" in str(error) and template.state == "ended":
            return f"an ended study is taken for an unfinished one: {error}"
        raise
    if template.state != "ended" and before > 0:
        return "an unfinished study is thrown away"
    return ""


def _executions(folder: Path) -> int:
    """Count the runs that any program can still read in a store."""
    try:
        with closing(sqlite3.connect(f"file:{folder / FILE_NAME}?mode=ro", uri=True)) as connection:
            return int(connection.execute("SELECT count(*) FROM execution").fetchone()[0])
    except SQLITE_ERRORS:
        return 0


def _read(template: Template, folder: Path) -> str:
    found, expected = served_in(folder), served_in(template.folder)
    return "" if found == expected else f"{found} instead of {expected}"


USES: dict[str, Callable[[Template, Path], str]] = {"resume": _resume, "search anew": _search_anew, "read": _read}
