"""`chaosagent replay` and `show`: outcomes, totals, exit codes, and records that are not what they should be."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chaosagent.replays import review
from chaosagent.replays.review import Expectation, Review, write_review
from chaosagent.replays.store import read_record, write_record

Command = Callable[..., Any]


def first_of(records: Path) -> Path:
    """Return one of the records."""
    return sorted(records.iterdir())[0]


def fix_agent(folder: Path) -> None:
    """Let the naive configuration use keys, too."""
    agent = folder / "agent.py"
    agent.write_text(agent.read_text("utf-8").replace('{"keys": False}', '{"keys": True}'), encoding="utf-8")


def test_what_is_not_repaired_is_violated_again(chaosagent: Command, records: Path) -> None:
    answer = chaosagent("replay", records)

    assert answer.code == 1
    lines = answer.out.splitlines()
    assert [line.split()[:2] for line in lines[:2]] == [["VIOLATED", "schedule"]] * 2
    assert "the same signature: refund(order=7) was committed 2 times" in lines[0]
    assert lines[-1] == "two replays: 2 VIOLATED"


def test_a_repaired_configuration_holds(chaosagent: Command, records: Path) -> None:
    answer = chaosagent("replay", records, "--config", "hardened")

    assert answer.code == 0
    assert "two replays: 2 HELD" in answer.out


def test_exact_reproduces_without_the_world(chaosagent: Command, records: Path) -> None:
    answer = chaosagent("replay", "--mode", "exact", records, "--json")

    assert answer.code == 0
    assert answer.json["totals"] == {"REPRODUCED": 2}
    first = answer.json["records"][0]
    assert (first["mode"], first["outcome"], first["step"]) == ("exact", "REPRODUCED", 1)
    assert Path(first["path"]).is_file()


def test_a_changed_agent_diverges_and_that_is_inconclusive_alone(
    chaosagent: Command, records: Path, folder: Path
) -> None:
    agent = folder / "agent.py"
    agent.write_text(agent.read_text("utf-8").replace("key=key", 'key="fresh"'), encoding="utf-8")
    forget("agent")

    exact = chaosagent("replay", "--mode", "exact", records)
    both = chaosagent("replay", "--mode", "both", records)

    assert exact.code == 3
    assert "two replays: 2 DIVERGED" in exact.out
    assert both.out.count("DIVERGED") - 1 == 2
    assert "HELD" not in exact.out


def forget(_module: str) -> None:
    """Targets in files are imported once in a process; another process would see the change."""
    import sys

    for name in [name for name in sys.modules if name.startswith("chaosagent_file_")]:
        del sys.modules[name]


def test_a_divergence_that_a_fix_explains_is_no_complaint(chaosagent: Command, records: Path, folder: Path) -> None:
    agent = folder / "agent.py"
    fixed = agent.read_text("utf-8").replace(
        'key = f"k-{task.input}" if run.config.settings["keys"] else None', 'key = "k"'
    )
    agent.write_text(fixed, encoding="utf-8")
    forget("agent")

    answer = chaosagent("replay", "--mode", "both", first_of(records))

    assert answer.code == 0
    assert "the target has changed and holds now" in answer.out
    assert "two replays: 1 DIVERGED, 1 HELD" in answer.out


def test_a_file_is_looked_for_in_the_working_directory_and_not_beside_the_record(
    chaosagent: Command, records: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")

    alone = chaosagent("replay", "--mode", "exact", folder / records)
    named = chaosagent("replay", "--mode", "exact", folder / records, "--target", "../agent.py:shop")

    assert (alone.code, named.code) == (4, 0)
    assert "there is no file" in alone.out
    assert "Name today's target with --target." in alone.out


def rewritten(records: Path, **terms: object) -> Path:
    """Return one of the records with other terms, in a folder of its own."""
    record = replace(read_record(first_of(records)), **terms)  # type: ignore[arg-type]  # fields named by the test
    return write_record(Path("from-a-stranger"), record)


@pytest.mark.parametrize(
    "place", ["{folder}/trap.py:shop", "../{name}/trap.py:shop", "a/../trap.py:shop", "/trap:shop"]
)
def test_a_record_alone_gets_nothing_imported_from_outside(
    chaosagent: Command, records: Path, folder: Path, place: str
) -> None:
    (folder / "trap.py").write_text("import pathlib\npathlib.Path('sprung').touch()\n", encoding="utf-8")
    stranger = rewritten(records, target_reference=place.format(folder=folder, name=folder.name))

    answer = chaosagent("replay", stranger, "--mode", "both", "--json")

    assert answer.code == 2
    assert not (folder / "sprung").exists()
    (told,) = answer.json["records"]
    assert told["outcome"] == "REFUSED"
    assert "outside the working directory" in told["detail"]
    assert "If you trust it, name the target with --target." in told["detail"]
    assert chaosagent("replay", stranger, "--target", "agent.py:shop").code == 1


@pytest.mark.parametrize("pattern", ["(?=a)b", "(a{0,300}){0,300}b"])
def test_a_pattern_that_may_take_for_ever_is_refused(chaosagent: Command, records: Path, pattern: str) -> None:
    leak = {"contract": "no-leak", "id": "theirs", "patterns": [pattern]}
    stranger = rewritten(records, contract_specs=("at-most-once", {"contract": "containment", "final": [leak]}))

    answer = chaosagent("replay", stranger, "--mode", "both")

    assert answer.code == 2
    assert f"a contract of the record: the pattern {pattern!r}" in answer.out


def test_a_refused_record_does_not_keep_others_from_being_replayed(chaosagent: Command, records: Path) -> None:
    rewritten(records, target_reference="/tmp/trap.py:shop")

    answer = chaosagent("replay", records, "from-a-stranger", "--config", "hardened")

    assert answer.code == 2
    assert "three replays: 2 HELD, 1 REFUSED" in answer.out


@pytest.mark.parametrize(
    "entry",
    [
        "/tmp/trap.py:check",
        "../trap.py:check",
        "..trap:check",
        {"contract": "no-crash", "requires": "/tmp/trap.py:check"},
        {"contract": "containment", "final": ["no-crash", "../trap.py:check"]},
    ],
)
@pytest.mark.parametrize("options", [(), ("--target", "agent.py:shop")])
def test_a_contract_from_outside_is_refused(
    chaosagent: Command, records: Path, entry: object, options: tuple[str, ...]
) -> None:
    stranger = rewritten(records, contract_specs=("at-most-once", entry))

    answer = chaosagent("replay", stranger, *options)

    assert answer.code == 2
    assert "the record names a contract as" in answer.out


def test_a_module_of_the_working_directory_is_imported_as_a_record_names_it(
    chaosagent: Command, records: Path, folder: Path
) -> None:
    (folder / "agent.py").rename(folder / "renamed_agent.py")
    own = rewritten(records, target_reference="renamed_agent:shop")

    assert chaosagent("replay", own).code == 1


def test_a_target_outside_the_working_directory_is_named_in_what_to_type_next(
    chaosagent: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")

    found = chaosagent("search", "../study.yaml", "--out", "found")

    commands = [line.split("  ")[1] for line in found.out.splitlines() if line.startswith("  chaosagent")]
    show, schedule, exact = commands
    assert [chaosagent(*command.split()[1:]).code for command in (schedule, exact)] == [1, 0]
    shown = [line.split("  ")[1] for line in chaosagent(*show.split()[1:]).out.splitlines() if "chaosagent re" in line]
    assert [chaosagent(*command.split()[1:]).code for command in shown] == [1, 0]


def test_a_renamed_configuration_is_an_error_that_names_the_option(
    chaosagent: Command, records: Path, folder: Path
) -> None:
    agent = folder / "agent.py"
    agent.write_text(agent.read_text("utf-8").replace('"naive"', '"simple"'), encoding="utf-8")

    answer = chaosagent("replay", records)

    assert answer.code == 4
    assert "has no configuration 'naive' any more, only simple, hardened" in answer.out
    assert "If it was renamed, name it with --config" in answer.out
    assert chaosagent("replay", records, "--config", "simple").code == 1


def test_a_target_that_has_gone_is_an_error_of_that_record(chaosagent: Command, records: Path, folder: Path) -> None:
    (folder / "agent.py").rename(folder / "moved.py")

    lost = chaosagent("replay", records)
    found = chaosagent("replay", records, "--target", "moved.py:shop")

    assert lost.code == 4
    assert "Name today's target with --target." in lost.out
    assert found.code == 1


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "is no replay record": lambda _data: b"something else",
    "is cut off": lambda data: data[:-10],
    "is damaged": lambda data: data[:-1] + bytes([data[-1] ^ 1]),
    "has format version": lambda data: data[:8] + b"\xff\xff" + data[10:],
}


@pytest.mark.parametrize("complaint", sorted(DAMAGES))
def test_a_damaged_record_is_told_and_the_others_are_replayed(
    chaosagent: Command, records: Path, complaint: str
) -> None:
    path = first_of(records)
    path.write_bytes(DAMAGES[complaint](path.read_bytes()))

    answer = chaosagent("replay", records, "--config", "hardened")
    shown = chaosagent("show", path)

    assert answer.code == 2
    assert complaint in answer.out
    assert "two replays: 1 HELD, 1 REFUSED" in answer.out
    assert (shown.code, shown.out) == (2, "")
    assert complaint in shown.err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("nowhere.replay",), "nowhere.replay does not exist"),
        (("found", "--mode", "exakt"), "unknown mode 'exakt'. Did you mean 'exact'?"),
        (("found", "--config", "hardend"), "Did you mean 'hardened'?"),
        (("found", "--target", "nobody"), "--target: unknown target 'nobody'"),
        (("found/replays/..", "--cofnig", "x"), "--config"),
        ((), "PATH"),
    ],
)
def test_bad_input_is_exit_code_2(
    chaosagent: Command, records: Path, arguments: tuple[str, ...], complaint: str
) -> None:
    assert records.is_dir()

    answer = chaosagent("replay", *arguments)

    assert (answer.code, answer.out) == (2, "")
    assert complaint in answer.err


def test_a_folder_without_records_says_where_they_come_from(chaosagent: Command, folder: Path) -> None:
    (folder / "empty").mkdir()

    answer = chaosagent("replay", "empty")

    assert answer.code == 2
    assert "`chaosagent search` writes them" in answer.err


def test_show_tells_the_story(chaosagent: Command, records: Path) -> None:
    answer = chaosagent("show", first_of(records))

    assert answer.code == 0
    for expected in (
        "at-most-once breaks in late",
        "One fault (cost 1.1) is enough: refund(order=7) was committed 2 times; 1 is right.",
        "service:payments[1] service.lost_response(when=after)",
        "connection: connection reset by peer",
        "committed: refund(order=7)",
        "✗ at-most-once is broken here: refund(order=7) was committed 2 times",
        "2×    1×              step 0: connection",
        "without service:payments[1] service.lost_response(when=after)",
        "finished, at-most-once holds",
        "certified minimum",
        f"chaosagent replay {first_of(records)}",
    ):
        assert expected in answer.out


def test_show_as_json_holds_the_story(chaosagent: Command, records: Path) -> None:
    story = chaosagent("show", first_of(records), "--json").json

    assert (story["contract"], story["step"], story["certified"]) == ("at-most-once", 1, True)
    assert [step["injected"] is not None for step in story["steps"]] == [True, False]
    assert story["effects"] == ["refund(order=7)"] * 2
    assert story["effects_without_faults"] == ["refund(order=7)"]
    assert story["necessity"][0]["then"].endswith("holds")


def test_show_takes_several_records_and_folders(chaosagent: Command, records: Path) -> None:
    paths = sorted(records.iterdir())
    stories = [chaosagent("show", path).out for path in paths]

    assert len(paths) == 2
    for arguments in ([records], paths, [records, *paths]):
        answer = chaosagent("show", *arguments)
        assert (answer.code, answer.out) == (0, "\n\n".join(stories))
    told = chaosagent("show", records, "--json").json["records"]
    assert told == [{"path": str(path), **chaosagent("show", path, "--json").json} for path in paths]


def test_a_damaged_record_does_not_keep_others_from_being_shown(chaosagent: Command, records: Path) -> None:
    damaged, sound = sorted(records.iterdir())
    story = chaosagent("show", sound).out
    damaged.write_bytes(damaged.read_bytes()[:-1])

    answer, as_json = chaosagent("show", records), chaosagent("show", records, "--json")

    assert (answer.code, as_json.code) == (2, 2)
    assert answer.out.startswith(f"{damaged} is cut off")
    assert answer.out.endswith(story)
    assert [set(record) >= {"path", "error"} for record in as_json.json["records"]] == [True, False]


@pytest.mark.parametrize("mode", ["schedule", "exact", "both"])
def test_a_record_of_another_target_is_refused(chaosagent: Command, records: Path, mode: str) -> None:
    answer = chaosagent("replay", first_of(records), "--target", "refund", "--mode", mode, "--json")

    assert answer.code == 2
    (told,) = answer.json["records"]
    assert told["outcome"] == "REFUSED"
    assert "is of target 'shop', task 'late'; the target 'refund' has no such task" in told["detail"]


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (lambda _data: b"", "is no replay record"),
        (lambda data: data[:20], "is cut off"),
        (lambda data: data[:-1], "is cut off"),
        (lambda data: data[:99] + bytes([data[99] ^ 4]) + data[100:], "is damaged: its checksum does not match"),
        (lambda data: data[:8] + b"\0\x63" + data[10:], "has format version 99; this chaosagent reads up to"),
        (lambda data: data[:10] + (2 * 1024**3).to_bytes(4, "big") + data[14:], "claims 2147483648 bytes; at most"),
        (lambda data: data + b"\0", "has bytes behind its end"),
    ],
)
def test_a_damaged_record_is_told_by_show_and_by_replay(
    chaosagent: Command, records: Path, damage: Callable[[bytes], bytes], complaint: str
) -> None:
    record = first_of(records)
    record.write_bytes(damage(record.read_bytes()))

    shown, replayed = chaosagent("show", record), chaosagent("replay", record)
    among_others = chaosagent("replay", records, "--config", "hardened")

    assert (shown.code, shown.out) == (2, "")
    assert f"{record} {complaint}" in shown.err
    assert replayed.code == among_others.code == 2
    assert f"REFUSED  schedule  {record}  {complaint}" in replayed.out
    assert (replayed.out.count(str(record)), replayed.err) == (1, "")
    assert "two replays: 1 HELD, 1 REFUSED" in among_others.out


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("1 / 0", "fails on import: ZeroDivisionError: division by zero. Name today's target with --target."),
        ("import sys; sys.exit()", "fails on import: SystemExit. Name today's target with --target."),
        ("shop = 3", "agent.py:shop is int, not a target."),
    ],
)
def test_a_target_that_cannot_be_loaded_is_told_for_its_record(
    chaosagent: Command, records: Path, folder: Path, text: str, complaint: str
) -> None:
    (folder / "agent.py").write_text(text, encoding="utf-8")
    forget("agent")

    answer = chaosagent("replay", first_of(records))

    assert answer.code == 4
    assert complaint in answer.out
    assert "one replay: 1 ERROR" in answer.out


def test_a_path_that_is_not_there_is_told_alike_by_all_verbs(chaosagent: Callable[..., Any]) -> None:
    told = [chaosagent(verb, "no.replay") for verb in ("show", "replay")]

    assert {answer.code for answer in told} == {2}
    assert told[0].err == told[1].err
    assert "no.replay does not exist. Name records (*.replay) or folders that hold some." in told[0].err


def edit_agent(folder: Path, *edits: tuple[str, str]) -> None:
    agent = folder / "agent.py"
    text = agent.read_text("utf-8")
    for before, after in edits:
        assert before in text
        text = text.replace(before, after)
    agent.write_text(text, encoding="utf-8")
    forget("agent")


FIXED = ('{"keys": False}', '{"keys": True}')


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
    write_whole, first = review.write_whole, first_of(records).stem

    def write(path: Path, data: bytes, *, mode: int) -> None:
        if path.name.startswith(first):
            raise OSError(28, "No space left on device")
        write_whole(path, data, mode=mode)

    monkeypatch.setattr(review, "write_whole", write)

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
