"""`chaosagent replay --accept` and `--promote`: what is expected of a record, and what a build says of it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chaosagent.replays.review import Expectation, Review, write_review
from chaosagent.replays.store import read_record
from chaosagent.whole_file import write_whole
from tests.cli.test_replay import FIXED, edit_agent, first_of

Command = Callable[..., Any]


def test_a_difference_is_reviewed_once_and_another_one_is_reported(
    chaosagent: Command, records: Path, folder: Path
) -> None:
    record = first_of(records)
    accepted = record.with_name(record.name.removesuffix(".replay") + ".accepted.toml")
    edit_agent(folder, FIXED, ('Effect("refund", {', 'Effect("voucher", {'))

    before = chaosagent("replay", record)
    reviewing = chaosagent("replay", record, "--accept")
    after = chaosagent("replay", record, "--json")

    assert (before.code, reviewing.code, after.code) == (3, 0, 0)
    assert before.out.startswith("CHANGED")
    for expected in (
        "no longer commits refund(order=7)",
        "commits voucher(order=7), which the record's does not",
        "If that is right, `replay --accept` makes it HELD: at-most-once holds",
    ):
        assert expected in before.out
    assert f"written to {accepted}" in reviewing.out
    assert 'what = "effects"' in accepted.read_text("utf-8")
    assert after.json["totals"] == {"HELD": 1}
    assert any(note.startswith("reviewed: today's run without faults") for note in after.json["records"][0]["notes"])

    edit_agent(folder, ('Effect("voucher", {', 'Effect("credit", {'))
    other = chaosagent("replay", record, "--json")

    assert other.code == 3
    assert [change["what"] for change in other.json["records"][0]["changes"]] == ["declaration", "effects"]
    assert "credit(order=7)" in other.json["records"][0]["changes"][1]["text"]

    chaosagent("replay", record, "--accept")
    edit_agent(folder, ('Effect("credit", {', 'Effect("voucher", {'))
    assert chaosagent("replay", record).code == 0, "an earlier review still counts"


def test_a_build_is_green_while_failures_are_known_and_red_when_a_fixed_one_comes_back(
    chaosagent: Command, records: Path, folder: Path
) -> None:
    fresh = chaosagent("replay", records, "--json")
    for path in sorted(records.glob("*.replay")):
        write_review(path, read_record(path), Review(expect=Expectation.VIOLATED))
    known = chaosagent("replay", records)
    edit_agent(folder, FIXED)
    fixed = chaosagent("replay", records)
    promoted = chaosagent("replay", records, "--promote", "--json")
    edit_agent(folder, (FIXED[1], FIXED[0]))
    back = chaosagent("replay", records)

    assert (fresh.code, known.code, fixed.code, promoted.code, back.code) == (1, 0, 0, 0, 1)
    assert {one["standing"] for one in fresh.json["records"]} == {"new"}
    assert "two records with an expectation: 2 known and open" in known.out
    assert known.out.startswith("KNOWN")
    assert "it was open and holds now; --promote expects that from now on" in fixed.out
    assert {one["expect"] for one in promoted.json["records"]} == {"held"}
    assert "two records with an expectation: 2 came back" in back.out
    assert "it had been fixed, and came back" in back.out


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (
            ('    print("what a target', '    raise RuntimeError("boom")\n    print("what a target'),
            "without the faults",
        ),
        (
            ('    return Outcome("paid"', '    await payments("refund", order=1, key=None)\n    return Outcome("paid"'),
            "",
        ),
        (("except ConnectionError:", "except TimeoutError:"), "which the record's run has kept"),
    ],
    ids=["a crash in every run", "twice without faults", "a crash under the fault"],
)
def test_another_failure_than_the_known_one_turns_a_build_red(
    chaosagent: Command, records: Path, folder: Path, edit: tuple[str, str], said: str
) -> None:
    record = first_of(records)
    write_review(record, read_record(record), Review(expect=Expectation.VIOLATED))
    if "order=1" in edit[1]:
        paid_twice = 'await payments("refund", order=task.input, key=key)'
        edit_agent(folder, (paid_twice, f"{paid_twice}\n            {paid_twice}"))
    else:
        edit_agent(folder, edit)

    answer = chaosagent("replay", record)

    assert answer.code == 1
    assert "known and open" not in answer.out
    assert "1 new" in answer.out
    assert said in answer.out


def test_a_contract_that_breaks_beside_the_recorded_one_is_reviewed_once(
    chaosagent: Command, records: Path, folder: Path
) -> None:
    record = first_of(records)
    write_review(record, read_record(record), Review(expect=Expectation.VIOLATED))
    edit_agent(
        folder,
        (
            'return Outcome("paid"',
            'if known is not None and _: raise RuntimeError("boom")\n            return Outcome("paid"',
        ),
    )

    beside = chaosagent("replay", record)
    chaosagent("replay", record, "--accept")
    reviewed = chaosagent("replay", record)
    edit_agent(folder, FIXED)
    fixed = chaosagent("replay", record)

    assert (beside.code, reviewed.code) == (1, 0)
    assert "a new failure beside the recorded one" in beside.out
    assert reviewed.out.startswith("KNOWN")
    assert fixed.out.startswith("KNOWN"), "the crash is what was reviewed, and is open still"


def test_a_record_that_is_missed_turns_a_build_red(chaosagent: Command, records: Path) -> None:
    record = first_of(records)
    write_review(record, read_record(record), Review(expect=Expectation.HELD))
    record.unlink()

    answer = chaosagent("replay", records, "--config", "hardened")

    assert answer.code == 2
    assert f"REFUSED   schedule  {record}" in answer.out.replace("REFUSED  ", "REFUSED   ")
    assert "says what is expected of it: restore the record, or remove both" in answer.out


def test_a_folder_that_is_a_link_is_looked_into_and_a_loop_of_links_ends(chaosagent: Command, records: Path) -> None:
    (records / "again").symlink_to(records.resolve(), target_is_directory=True)
    Path("linked").mkdir()
    (Path("linked") / "below").symlink_to(records.resolve(), target_is_directory=True)

    answer = chaosagent("replay", "linked", "--config", "hardened")

    assert "two replays: 2 HELD" in answer.out


def test_both_sides_of_a_merge_are_not_overwritten(chaosagent: Command, records: Path, folder: Path) -> None:
    edit_agent(folder, FIXED, ('return None if answer["repeated"] else', 'return [] if answer["repeated"] else'))
    record = first_of(records)
    text = record.with_name(f"{record.stem}.accepted.toml")
    merged = '<<<<<<< HEAD\nexpect = "held"\n=======\nexpect = "violated"\n>>>>>>> other\n'
    text.write_text(merged, encoding="utf-8")

    answer = chaosagent("replay", record, "--accept")

    assert answer.code == 2
    assert "holds both sides of a merge" in answer.out
    assert text.read_text("utf-8") == merged


def test_an_exact_replay_does_not_praise_a_fixed_failure_that_is_back(chaosagent: Command, records: Path) -> None:
    record = first_of(records)
    write_review(record, read_record(record), Review(expect=Expectation.HELD))

    answer = chaosagent("replay", "--mode", "exact", record)

    assert answer.code == 1
    assert "it had been fixed, and came back" in answer.out


def test_what_tests_nothing_any_more_is_no_known_failure(chaosagent: Command, records: Path, folder: Path) -> None:
    for path in sorted(records.glob("*.replay")):
        write_review(path, read_record(path), Review(expect=Expectation.VIOLATED))
    edit_agent(
        folder,
        FIXED,
        ('service("payments", {"refund": refund}, effects={"refund": paid})', 'service("bank", {"repay": refund})'),
        ('payments("refund"', 'payments("repay"'),
    )

    answer = chaosagent("replay", records)

    assert answer.code == 3
    assert "known and open" not in answer.out


def test_a_review_that_cannot_be_written_stops_no_other_replay(
    chaosagent: Command, records: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit_agent(folder, FIXED, ('return None if answer["repeated"] else', 'return [] if answer["repeated"] else'))
    first = first_of(records).stem

    def write(path: Path, data: bytes, *, mode: int) -> None:
        if path.name.startswith(first):
            raise OSError(28, "No space left on device")
        write_whole(path, data, mode=mode)

    monkeypatch.setattr("chaosagent.replays.review.write_whole", write)

    answer = chaosagent("replay", records, "--accept")

    assert answer.code == 3
    assert "two replays: 1 HELD, 1 CHANGED" in answer.out
    assert "not accepted: " in answer.out
    assert "cannot be written" in answer.out


def test_a_changed_declaration_is_reported_though_every_run_is_as_before(
    chaosagent: Command, records: Path, folder: Path
) -> None:
    edit_agent(folder, FIXED, ('return None if answer["repeated"] else', 'return [] if answer["repeated"] else'))

    answer = chaosagent("replay", records)

    assert answer.code == 3
    assert "effects of service:payments, refund: the declaration has changed. If that is right, " in answer.out
    assert "two replays: 2 CHANGED" in answer.out


def test_a_violation_is_never_accepted(chaosagent: Command, records: Path, folder: Path) -> None:
    edit_agent(folder, ('Effect("refund", {', 'Effect("voucher", {'))

    answer = chaosagent("replay", records, "--accept")

    assert answer.code == 1
    assert "two replays: 2 VIOLATED" in answer.out
    assert not list(records.glob("*.accepted.toml"))


def test_what_was_reviewed_is_refused_when_it_cannot_be_read(chaosagent: Command, records: Path) -> None:
    record = first_of(records)
    accepted = record.with_name(record.name.removesuffix(".replay") + ".accepted.toml")
    accepted.write_text("version = ?", encoding="utf-8")

    answer = chaosagent("replay", records, "--config", "hardened")

    assert answer.code == 2
    assert "two replays: 1 HELD, 1 REFUSED" in answer.out
    assert f"{accepted} is no TOML text: Invalid value (at line 1, column 11). Restore the file" in answer.out


def test_only_schedules_are_reviewed(chaosagent: Command, records: Path) -> None:
    answer = chaosagent("replay", records, "--mode", "exact", "--accept")

    assert (answer.code, answer.out) == (2, "")
    assert "--accept is for schedules, and --mode is exact" in answer.err


def test_the_number_of_runs_is_limited(chaosagent: Command, records: Path, folder: Path) -> None:
    call = '            await payments("refund", order=task.input, key=key)\n'
    edit_agent(folder, FIXED, (call, call + call))

    few, enough = (chaosagent("replay", records, "--placements", count) for count in (1, 2))
    bad = chaosagent("replay", records, "--placements", 0)

    assert (few.code, enough.code, bad.code) == (3, 0, 2)
    assert "MOVED" in few.out
    assert "takes more runs than allowed (1); allow more with --placements" in few.out


@pytest.mark.slow
def test_a_fix_that_breaks_another_contract_says_so_everywhere_and_is_red_once_it_was_fixed_without(
    chaosagent: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = folder / "study.yaml"
    study.write_text(
        "target: agent.py:shop\ncontracts: [at-most-once, no-ghosts]\noperators: [service.lost_response]\n"
    )
    chaosagent("search", study, "--task", "late", "--budget", "1.2", "--out", "out")
    (record,) = (folder / "out/replays").glob("late-at-most-once-*.replay")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(folder / "summary.md"))
    silent = ("success=True, claims=(", "success=True, claims=() if _ else (")
    edit_agent(folder, FIXED, silent)

    held = chaosagent("replay", record, "--github", "--junit", "held.xml", "--sarif", "held.sarif")
    texts = [held.out, held.err, *((folder / name).read_text() for name in ("summary.md", "held.xml", "held.sarif"))]
    in_pytest = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(record)]
    texts.append(subprocess.run(in_pytest, cwd=folder, text=True, capture_output=True, check=True).stdout)
    promoted = chaosagent("replay", record, "--promote")
    again = chaosagent("replay", record)
    edit_agent(folder, (silent[1], silent[0]))
    record.with_name(record.name.replace(".replay", ".accepted.toml")).unlink()
    chaosagent("replay", record, "--promote")
    edit_agent(folder, silent)
    red = chaosagent("replay", record)
    chaosagent("replay", record, "--accept")
    reviewed = chaosagent("replay", record)

    assert [one.code for one in (held, promoted, again, red, reviewed)] == [0, 0, 0, 3, 0]
    assert all("no-ghosts is violated, which the record's run has kept" in text.replace("\\", "") for text in texts)
    assert "Another contract breaks under the faults of one record that is HELD" in held.out
    assert "::warning file=" in held.err
    assert "where it is written down that it breaks another contract, too" in promoted.out
    assert red.out.startswith("CHANGED")
    assert reviewed.out.startswith("HELD")
