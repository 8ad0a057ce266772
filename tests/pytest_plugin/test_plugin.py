"""The plug-in for pytest: records as tests, targets under faults, and tests of chance."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from chaosagent.replays.review import Expectation, Review, write_review
from chaosagent.replays.store import find_records, read_record
from tests.cli.conftest import AGENT
from tests.pytest_plugin.conftest import FIXED, LOST, PLUGIN

pytest_plugins = ["pytester"]
GIVEN = f"""
import pytest
from agent import shop

@pytest.mark.chaosagent(schedules=[{LOST!r}], tasks=["late"])
def test_shop():
    return shop
"""


@pytest.fixture
def recorded(pytester: pytest.Pytester, folder: Path) -> Path:
    """Return the record that a failing test has left, in a folder of records."""
    pytester.makepyfile(test_given=GIVEN)
    pytester.runpytest_inprocess(*PLUGIN, "test_given.py").assert_outcomes(failed=1)
    (folder / "records").mkdir()
    (left,) = (folder / "chaosagent-out/pytest").glob("*.replay")
    return left.rename(folder / "records" / left.name)


# ---------------------------------------------------------------------- records


def test_records_are_tests_where_they_are_named_or_configured(pytester: pytest.Pytester, recorded: Path) -> None:
    pytester.makepyfile(test_nothing="def test_nothing(): pass")

    nowhere = pytester.runpytest_inprocess(*PLUGIN, "test_nothing.py", ".", "--deselect", "test_given.py")
    named = pytester.runpytest_inprocess(*PLUGIN, "records")
    one = pytester.runpytest_inprocess(*PLUGIN, recorded)
    pytester.makeini("[pytest]\nchaosagent_replays = records\n")
    configured = pytester.runpytest_inprocess(*PLUGIN, "--deselect", "test_given.py")

    nowhere.assert_outcomes(passed=1, deselected=1)
    named.assert_outcomes(failed=1)
    one.assert_outcomes(failed=1)
    configured.assert_outcomes(failed=1, passed=1, deselected=1)
    named.stdout.fnmatch_lines(["VIOLATED: at-most-once violated at step 1*", "*is broken here: refund(order=7) was*"])


def test_a_folder_holds_the_records_that_replay_finds_in_it(
    pytester: pytest.Pytester, recorded: Path, folder: Path
) -> None:
    records, content = recorded.parent, recorded.read_bytes()
    recorded.unlink()
    for place in ("a", "a/deep", ".new", "build/b", "linked/c"):
        (records / place).mkdir(parents=True)
        (records / place / "x.replay").write_bytes(content)
    (records / "linked").rename(folder / "outside")
    (records / "link").symlink_to(folder / "outside")
    (folder / "link").symlink_to(records)
    pytester.makepyfile(test_nothing="def test_nothing(): pass")

    def collected(*given: str) -> list[str]:
        run = pytester.runpytest_inprocess(*PLUGIN, "--collect-only", "-q", *given)
        return sorted(line.partition("::")[0] for line in run.outlines if line.endswith("::replay"))

    listed = [str(path.relative_to(folder)) for path in find_records([records])]
    named, linked = collected("records"), collected("link")
    with_tests = collected(".")
    left_out = collected("records", "--ignore=records/.new", "--ignore-glob=*/build")
    (records / "conftest.py").touch()
    (records / "y.replay").write_bytes(content)
    beside_python = collected("records")
    pytester.makeini("[pytest]\nchaosagent_replays = link\n")
    configured = collected()

    assert listed == [
        "records/.new/x.replay",
        "records/a/deep/x.replay",
        "records/a/x.replay",
        "records/build/b/x.replay",
        "records/link/c/x.replay",
    ]
    assert named == listed
    assert linked == [path.replace("records", "link") for path in listed]
    assert with_tests == []
    assert left_out == ["records/a/deep/x.replay", "records/a/x.replay", "records/link/c/x.replay"]
    assert beside_python == [*listed, "records/y.replay"]
    assert [path for path in configured if path.startswith("records")] == beside_python


def test_a_record_stands_as_in_a_build(pytester: pytest.Pytester, recorded: Path, folder: Path) -> None:
    write_review(recorded, read_record(recorded), Review(expect=Expectation.VIOLATED))
    known = pytester.runpytest_inprocess(*PLUGIN, "records", "-rx")
    really = pytester.runpytest_inprocess(*PLUGIN, "records", "--runxfail")
    (folder / "agent.py").write_text(FIXED)
    fixed = pytester.runpytest_inprocess(*PLUGIN, "records", "-rP")
    exact = pytester.runpytest_inprocess(*PLUGIN, "records", "--replay-mode", "exact")
    both = pytester.runpytest_inprocess(*PLUGIN, "records", "--replay-mode", "both")
    write_review(recorded, read_record(recorded), Review(expect=Expectation.HELD))
    (folder / "agent.py").write_text(AGENT)
    back = pytester.runpytest_inprocess(*PLUGIN, "records")
    (folder / "agent.py").write_text(FIXED.replace('"payments"', '"bank"'))
    renamed = pytester.runpytest_inprocess(*PLUGIN, "records")

    known.assert_outcomes(xfailed=1)
    really.assert_outcomes(failed=1)
    known.stdout.fnmatch_lines(["*known and open, as expected*"])
    fixed.assert_outcomes(passed=1)
    fixed.stdout.fnmatch_lines(["HELD: *it was open and holds now*"])
    exact.assert_outcomes(passed=1)
    both.assert_outcomes(passed=1)
    back.assert_outcomes(failed=1)
    back.stdout.fnmatch_lines(["*it had been fixed, and came back*"])
    renamed.assert_outcomes(failed=1)
    renamed.stdout.fnmatch_lines(["*MOVED: `payments.refund` is not called any more*"])


def test_targets_are_looked_for_in_the_root_folder(
    pytester: pytest.Pytester, recorded: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makeini("[pytest]\n")
    (folder / "agent.py").write_text(FIXED)
    pytester.mkdir("elsewhere")
    monkeypatch.chdir("elsewhere")

    pytester.runpytest_inprocess(*PLUGIN, recorded, "--rootdir", folder).assert_outcomes(passed=1)


def test_a_damaged_record_fails_and_says_why(pytester: pytest.Pytester, recorded: Path) -> None:
    recorded.write_bytes(recorded.read_bytes()[:-3])

    run = pytester.runpytest_inprocess(*PLUGIN, "records")

    run.assert_outcomes(failed=1)
    run.stdout.fnmatch_lines(["REFUSED: *"])
    run.stdout.no_fnmatch_line("*Traceback*")


def test_a_record_that_is_missing_fails(pytester: pytest.Pytester, recorded: Path) -> None:
    write_review(recorded, read_record(recorded), Review(expect=Expectation.HELD))
    recorded.unlink()

    run = pytester.runpytest_inprocess(*PLUGIN, "records")

    run.assert_outcomes(failed=1)
    run.stdout.fnmatch_lines(["REFUSED: *does not exist*restore the record*"])


@pytest.mark.slow
def test_records_go_with_xdist_selection_and_junit(pytester: pytest.Pytester, recorded: Path, folder: Path) -> None:
    (recorded.parent / "another.replay").write_bytes(recorded.read_bytes())

    run = pytester.runpytest_subprocess(*PLUGIN, "records", "-n", "2", "-x", "--junitxml", "told.xml", "-k", "another")

    run.assert_outcomes(failed=1)
    assert 'name="replay"' in (folder / "told.xml").read_text()


def test_a_mode_that_does_not_exist_is_refused(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nchaosagent_mode = fast\n")

    run = pytester.runpytest_inprocess(*PLUGIN)

    assert run.ret == pytest.ExitCode.USAGE_ERROR
    run.stderr.fnmatch_lines(["*chaosagent_mode = 'fast': it must be schedule, exact, both."])


def test_a_folder_of_records_that_is_not_there_is_refused(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nchaosagent_replays = nowhere\n")
    pytester.makepyfile("def test_nothing(): pass")

    run = pytester.runpytest_inprocess(*PLUGIN)

    assert run.ret == pytest.ExitCode.USAGE_ERROR
    run.stderr.fnmatch_lines(["*chaosagent_replays: */nowhere is no folder. Make it, *"])


def test_what_a_target_prints_is_shown_without_its_secrets(pytester: pytest.Pytester, recorded: Path) -> None:
    secret = AGENT.replace("@target(\n", '@target(\n    secrets=["sk-\\\\d+"],\n').replace(
        'print("what a target prints is no answer")', 'print("the key is sk-1234")'
    )
    pytester.makepyfile(agent=secret)
    pytester.makepyfile(
        test_run=f"""
        from agent import shop

        def test_it(chaosagent_run):
            assert not chaosagent_run(shop, {LOST!r}).violations
        """
    )

    run = pytester.runpytest_inprocess(*PLUGIN, "test_given.py", "test_run.py", recorded)

    run.assert_outcomes(failed=3)
    run.stdout.fnmatch_lines(["the key is [[]secret *"])
    run.stdout.no_fnmatch_line("*sk-1234*")


# ---------------------------------------------------------------------- its cost


def test_a_session_that_does_not_use_it_loads_nothing_else_of_chaosagent(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_nothing(): pass")
    code = (
        f"import json, sys, pytest; pytest.main([*{PLUGIN!r}, '-q']); "
        "print(json.dumps(sorted(name for name in sys.modules if name.startswith('chaosagent'))))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)

    loaded = json.loads(done.stdout.splitlines()[-1])
    assert [name for name in loaded if "editable" not in name] == [
        "chaosagent",
        "chaosagent.pytest_plugin",
        "chaosagent.pytest_plugin.plugin",
    ]


def test_the_page_says_what_happens(pytester: pytest.Pytester) -> None:
    root = Path(__file__).parents[2]
    blocks = re.compile(r"^```\w+ title=(\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    files = dict(blocks.findall((root / "docs/pytest.md").read_text("utf-8")))
    readme = dict(reversed(blocks.findall((root / "README.md").read_text("utf-8"))))  # later ones are changes
    pytester.makefile(".py", agent=readme["refunds/agent.py"])
    for name, text in files.items():
        (pytester.path / name).write_text(text, encoding="utf-8")
    settings = (pytester.path / "pytest.ini").rename("settings.ini")
    (pytester.path / "tests/replays").mkdir(parents=True)

    before = pytester.runpytest_inprocess(*PLUGIN)
    for record in (pytester.path / "chaosagent-out/pytest").iterdir():
        record.rename(pytester.path / "tests/replays" / record.name)
    settings.rename("pytest.ini")
    after = pytester.runpytest_inprocess(*PLUGIN)

    assert set(files) == {"pytest.ini", "test_agent.py", "test_chance.py"}
    before.assert_outcomes(passed=2, failed=3)
    after.assert_outcomes(passed=2, failed=4)


def test_no_warning_shows_a_secret(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        agent="""
            import threading, warnings
            import chaosagent

            @chaosagent.target(tasks=[chaosagent.Task("ask")], secrets=["sk-[0-9]+"])
            async def agent(task, run):
                warnings.warn("the key is sk-123")
                late = threading.Thread(target=lambda: {}["sk-456"])
                late.start()
                late.join()
                return chaosagent.Outcome("done", success=True)
            """,
        test_it="""
            from agent import agent

            def test_it(chaosagent_run):
                assert chaosagent_run(agent).outcome.success
            """,
    )

    run = pytester.runpytest_subprocess(*PLUGIN, "-W", "default", "--junitxml=told.xml")

    run.assert_outcomes(passed=1, warnings=2)
    told = run.stdout.str() + run.stderr.str() + (pytester.path / "told.xml").read_text("utf-8")
    assert told.count("[secret ") >= 2
    assert "KeyError" in told
    assert not [line for line in told.splitlines() if "sk-" in line and "warnings.warn(" not in line]


def test_a_configured_folder_without_records_is_refused(pytester: pytest.Pytester) -> None:
    (pytester.mkdir("records") / "notes.txt").write_text("no record", "utf-8")
    pytester.makeini("[pytest]\nchaosagent_replays = records\n")
    pytester.makepyfile("def test_nothing(): pass")

    run = pytester.runpytest_inprocess(*PLUGIN)

    assert run.ret == pytest.ExitCode.USAGE_ERROR
    run.stderr.fnmatch_lines(["*chaosagent_replays: */records holds no record, so it tests nothing. Fill it with *"])
