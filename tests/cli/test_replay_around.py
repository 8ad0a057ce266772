"""`chaosagent replay --around`: what is said of a fix that only evades the recorded faults, and what is kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chaosagent.replays.review import Expectation, Review, write_review
from chaosagent.replays.store import read_record
from tests.cli.test_replay import FIXED, edit_agent

Command = Callable[..., Any]
EVADES = (
    "except ConnectionError:\n",
    'except ConnectionError:\n            return Outcome("unclear", success=False)\n        except TimeoutError:\n',
)
"""A lost answer is not followed by a second payment any more; one that comes too late is."""


def test_what_breaks_beside_a_record_is_red_told_and_kept(chaosagent: Command, records: Path, folder: Path) -> None:
    stored = sorted(records.glob("*.replay"))
    edit_agent(folder, EVADES)

    plain = chaosagent("replay", records)
    around = chaosagent("replay", records, "--around", "--json", "--junit", "around.xml")

    assert (plain.code, around.code) == (0, 1)
    told, other = json.loads(around.out)["records"]
    assert (told["outcome"], other["outcome"]) == ("DODGED", "DODGED")
    kept = records / told["neighbour"]["file"]
    assert f"saved as {kept}" in told["notes"]
    assert told["neighbour"]["schedule"] == str(read_record(kept).schedule)
    assert "DODGED: " in Path("around.xml").read_text("utf-8")
    assert sorted(records.glob("*.replay")) == sorted([*stored, kept, records / other["neighbour"]["file"]])
    assert chaosagent("replay", kept).code == 1
    assert chaosagent("replay", kept, "--mode", "exact").code == 0
    edit_agent(folder, FIXED)
    assert chaosagent("replay", records, "--around").code == 0


def test_a_failure_that_is_known_is_not_promoted_by_a_fix_that_evades_it(
    chaosagent: Command, records: Path, folder: Path
) -> None:
    record, _ = sorted(records.glob("*.replay"))
    write_review(record, read_record(record), Review(expect=Expectation.VIOLATED))
    edit_agent(folder, EVADES)

    around = chaosagent("replay", record, "--around", "--promote")

    assert around.code == 0
    assert around.out.startswith("KNOWN")
    assert "is violated under a neighbour" in around.out
    assert "known and open still: the fix evades the recorded faults only" in around.out
    told = chaosagent("replay", records)
    assert (told.code, told.out.count("KNOWN ")) == (0, 1)  # the neighbour is known, too
    assert chaosagent("replay", record).out.startswith("HELD")
    assert "it was open and holds now" in chaosagent("replay", record).out


def test_a_run_that_breaks_once_in_a_process_and_not_again_is_no_finding(
    chaosagent: Command, records: Path, folder: Path
) -> None:
    stored = sorted(records.glob("*.replay"))
    forgets = EVADES[1] + '            if SEEN:\n                return Outcome("unclear", success=False)\n'
    edit_agent(folder, (EVADES[0], forgets + "            SEEN.append(1)\n"), ("@target(", "SEEN = []\n\n\n@target("))

    around = chaosagent("replay", stored[0], "--around")

    assert (around.code, around.out.partition(" ")[0]) == (0, "HELD")
    assert "broke at-most-once, but not each time, or not in a process of its own" in around.out
    assert sorted(records.glob("*.replay")) == stored


def test_a_record_that_is_there_already_stays_as_it_is(chaosagent: Command, records: Path, folder: Path) -> None:
    edit_agent(folder, EVADES)
    told, _ = json.loads(chaosagent("replay", records, "--around", "--json").out)["records"]
    kept = records / told["neighbour"]["file"]
    kept.write_bytes(b"somebody's")

    again = chaosagent("replay", told["path"], "--around")

    assert again.code == 1
    assert f"there is a record of it already: {kept}" in again.out
    assert kept.read_bytes() == b"somebody's"


def test_a_folder_that_cannot_be_written_to_is_told(
    chaosagent: Command, records: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit_agent(folder, EVADES)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.mkstemp", full)
    around = chaosagent("replay", records, "--around")

    assert around.code == 1
    assert "not saved: " in around.out
    assert "No space left on device" in around.out
    assert len(list(records.iterdir())) == 2


def test_exact_replays_have_no_neighbours(chaosagent: Command, records: Path) -> None:
    refused = chaosagent("replay", records, "--mode", "exact", "--around")

    assert refused.code == 2
    assert "--around is for schedules, and --mode is exact" in refused.err


def test_a_limit_without_neighbours_is_refused(chaosagent: Command, records: Path) -> None:
    refused = chaosagent("replay", records, "--neighbours", "3")

    assert refused.code == 2
    assert "--neighbours says how many --around runs; add --around" in refused.err
