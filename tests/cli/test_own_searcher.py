"""A searcher of the user's own: named by its file, blamed for what it does wrong, and fixed without losing a run."""

import re
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]
MODULE = "own_searcher_{}"
OWN = """
from chaosagent.searchers.proof.uniform_cost import ExactSearcher


class Mine(ExactSearcher):
    def tell(self, evaluation):
        super().tell(evaluation)
        {does}
"""
BREAKS = "assert len(self.told) < 3, 'I can count to two'"


@pytest.fixture
def own(folder: Path, request: pytest.FixtureRequest) -> Callable[[str], str]:
    """Return what writes a searcher into the folder, under a name that no other test imports."""
    stem = re.sub(r"\W", "_", MODULE.format(request.node.name))

    def write(does: str) -> str:
        sys.modules.pop(stem, None)
        (folder / f"{stem}.py").write_text(OWN.format(does=does), encoding="utf-8")
        return f"{stem}.py:Mine"

    return write


def test_it_is_named_with_what_it_raised_and_what_was_run_is_kept(
    chaosagent: Command, own: Callable[[str], str], folder: Path
) -> None:
    broken = chaosagent("search", "study.yaml", "--searcher", own(BREAKS), "--out", "found")
    with sqlite3.connect(folder / "found/study.db") as store:
        (kept,) = store.execute("SELECT count(*) FROM execution").fetchone()
    mended = chaosagent("search", "study.yaml", "--searcher", own("pass"), "--out", "found", "--resume")
    honest = chaosagent("search", "study.yaml", "--out", "other")

    assert broken.code == 2
    assert re.search(r"searcher '\w+:Mine': tell raised AssertionError: I can count to two \(at \w+\.py:8", broken.err)
    assert "all runs are kept in found" in broken.err
    assert "--resume continues from there" in broken.err
    assert kept > 2
    assert mended.code == honest.code == 1
    assert [line for line in mended.out.splitlines() if "certified" in line] == [
        line for line in honest.out.splitlines() if "certified" in line
    ]


def test_a_false_claim_is_told_and_nothing_is_called_proved(chaosagent: Command, own: Callable[[str], str]) -> None:
    lying = "type(self).progress = property(lambda self: __import__('chaosagent.study.searcher').study.searcher"
    answer = chaosagent("search", "study.yaml", "--searcher", own(f"{lying}.SearchProgress(5.0, 'C2'))"), "--json")

    assert answer.code == 1
    for search in answer.json["searches"]:
        assert not search["certified"]
        assert not search["safe"]
        assert "claimed that nothing cheaper than 5 breaks the contract" in search["disproved"]


REFUSING = """
from typing import Annotated

from chaosagent import UsageError
from chaosagent.searchers.proof.uniform_cost import ExactSearcher
from chaosagent.study.searcher_settings import Within


class Mine(ExactSearcher):
    def __init__(self, problem, *, depth: Annotated[int, Within(1, 9)] = 3, pace=1):
        super().__init__(problem)
        if pace == "quick":
            raise UsageError(f"mine(pace={pace!r}): pace must be a number.")
        self.pace = 1 / pace
"""


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ("depth: 0", r"study\.yaml:7: search\.settings\.depth is 0; it must be a whole number from 1 to 9\."),
        ("deph: 2", r"study\.yaml:7: unknown setting of searcher '\w+:Mine': 'deph'\. Did you mean 'depth'"),
        ("pace: quick", r"study\.yaml:7: mine\(pace='quick'\): pace must be a number\."),
        ("pace: 0", r"searcher '\w+:Mine': its constructor raised ZeroDivisionError: division by zero \(at \w+\.py:14"),
    ],
)
def test_a_setting_that_it_refuses_ends_the_command_before_anything_is_written(
    chaosagent: Command, own: Callable[[str], str], folder: Path, setting: str, complaint: str
) -> None:
    name = own("pass")
    (folder / name.partition(":")[0]).write_text(REFUSING, encoding="utf-8")
    honest = (folder / "study.yaml").read_text("utf-8")
    chaosagent("search", "study.yaml", "--out", "found")
    kept = {path: path.read_bytes() for path in (folder / "found").rglob("*") if path.is_file()}

    (folder / "study.yaml").write_text(f"{honest}search:\n  searcher: {name}\n  settings: {{{setting}}}\n")
    over, fresh = (chaosagent("search", "study.yaml", "--out", out) for out in ("found", "other"))

    assert over.code == fresh.code == 2
    assert re.search(complaint, over.err)
    assert re.search(complaint, fresh.err)
    assert kept
    assert {path: path.read_bytes() for path in (folder / "found").rglob("*") if path.is_file()} == kept
    assert not (folder / "other").exists()
