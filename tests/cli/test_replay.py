"""`chaosagent replay` and `show`: outcomes, totals, exit codes, and records that are not what they should be."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

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
