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

pytest_plugins = ["pytester"]
# Whether the plug-in is installed or not, exactly one is loaded: that of this checkout.
PLUGIN = ("-p", "no:chaosagent", "-p", "chaosagent.pytest_plugin.plugin", "-p", "no:cacheprovider", "-p", "no:asyncio")
LOST = "service:payments[1] service.lost_response(when=after)"
FIXED = AGENT.replace('{"keys": False}', '{"keys": True}')
GIVEN = f"""
import pytest
from agent import shop

@pytest.mark.chaosagent(schedules=[{LOST!r}], tasks=["late"])
def test_shop():
    return shop
"""


@pytest.fixture
def folder(pytester: pytest.Pytester) -> Path:
    """Return a folder with an agent that pays twice, in which tests run."""
    pytester.makepyfile(agent=AGENT)
    return pytester.path


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
    ]
    assert named == listed
    assert linked == [path.replace("records", "link") for path in listed]
    assert with_tests == []
    assert left_out == ["records/a/deep/x.replay", "records/a/x.replay"]
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


# ---------------------------------------------------------------------- targets


@pytest.mark.parametrize("way", [f"schedules=[{LOST!r}]", "random=40", "search=60"])
def test_what_breaks_a_target_is_told_and_kept(pytester: pytest.Pytester, folder: Path, way: str) -> None:
    pytester.makepyfile(
        f"""
        import pytest
        from agent import shop

        @pytest.mark.chaosagent({way}, budget=1.2, operators=["service.lost_response"], tasks=["late"])
        def test_shop(tmp_path):
            assert tmp_path.is_dir()
            return shop
        """
    )

    broken = pytester.runpytest_inprocess(*PLUGIN)
    (kept,) = find_records([folder / "chaosagent-out/pytest"])
    again = pytester.runpytest_inprocess(*PLUGIN, kept, "--replay-mode", "exact")
    (folder / "agent.py").write_text(FIXED)
    fixed = pytester.runpytest_inprocess(*PLUGIN)

    broken.assert_outcomes(failed=1)
    broken.stdout.fnmatch_lines(["at-most-once breaks in late*", f"*chaosagent replay {kept}*"])
    assert LOST in str(read_record(kept).schedule)
    again.assert_outcomes(passed=1)
    fixed.assert_outcomes(passed=1)


UNSOUND = """
import pytest
from chaosagent import Outcome, Task, target


@target(tasks=[Task("one")])
async def crashes(task, run):
    run.service("bank", {"pay": lambda: 1})
    raise RuntimeError("always")


@target(tasks=[Task("one"), Task("two")])
async def idle(task, run):
    if task.id == "one":
        await run.service("bank", {"pay": lambda: 1})("pay")
    return Outcome("done")


@target(tasks=[Task("one")])
async def odd(task, run):
    try:
        await run.service("bank", {"pay": lambda: 1})("pay")
    except Exception:
        return 5
    return Outcome("done")


made = []


@target(tasks=[Task("one")])
async def once(task, run):
    made.append(task)
    await run.service("bank", {"pay": lambda: 1})("pay")
    if len(made) == 1:
        raise RuntimeError("the first time")
    return Outcome("done")
"""
"""Agents that break without faults, or only at first, that call nothing, and that return what they must not."""


@pytest.mark.parametrize("way", ["search=30", "random=5"])
def test_a_target_that_no_fault_tests_never_passes(pytester: pytest.Pytester, way: str) -> None:
    targets = ("crashes", "idle", "odd", "once")
    marked = (f"@pytest.mark.chaosagent({way})\ndef test_{name}():\n    return {name}\n" for name in targets)
    pytester.makepyfile("\n\n".join([UNSOUND, *marked]))

    run = pytester.runpytest_inprocess(*PLUGIN)

    run.assert_outcomes(failed=4)
    run.stdout.fnmatch_lines(
        [
            "no-crash breaks in one*",
            "*RuntimeError: always*",
            "chaosagent(*=...): nothing can be injected up to a budget of 3 in task 'two', seed 0, *",
            "*target 'odd' returned int; it must return an Outcome*",
        ]
    )


@pytest.mark.parametrize(("keys", "word"), [("search=9, operators=['prompt.splice']", "can be"), ("search=1", "was")])
def test_a_search_that_injects_nothing_fails(pytester: pytest.Pytester, folder: Path, keys: str, word: str) -> None:
    assert folder.is_dir()
    marked = f"@pytest.mark.chaosagent({keys})\ndef test_it():\n    return shop\n"
    pytester.makepyfile(f"import pytest\nfrom agent import shop\n\n{marked}")

    run = pytester.runpytest_inprocess(*PLUGIN)

    run.assert_outcomes(failed=1)
    run.stdout.fnmatch_lines([f"*nothing {word} injected up to a budget of 3 in task 'late'*"])


def test_markers_count_wherever_they_were_added(pytester: pytest.Pytester, folder: Path) -> None:
    assert folder.is_dir()
    pytester.makeconftest(
        f"""
        import pytest

        @pytest.hookimpl(trylast=True)
        def pytest_collection_modifyitems(items):
            for item in items:
                if item.name in ("test_collected", "test_twice", "test_both", "page.txt"):
                    item.add_marker(pytest.mark.chaosagent(schedules=[{LOST!r}]))
                if item.name in ("test_chance", "test_both"):
                    item.add_marker(pytest.mark.chaosagent_trials(threshold=0.5, trials=20))

        @pytest.fixture
        def faulty(request):
            request.node.add_marker(pytest.mark.chaosagent(schedules=[{LOST!r}]))

        @pytest.hookimpl(wrapper=True, tryfirst=True)
        def pytest_runtest_protocol(item, nextitem):
            if item.name == "test_twice":  # what plug-ins do that repeat tests
                from _pytest.runner import runtestprotocol
                runtestprotocol(item, nextitem=nextitem, log=False)
                item._initrequest()
            return (yield)
        """
    )
    pytester.maketxtfile(page=">>> 1\n1\n")
    pytester.makepyfile(
        """
        from agent import shop

        def test_collected(): return shop
        def test_twice(): return shop
        def test_fixture(faulty): return shop
        def test_chance(): assert False, "told"
        def test_both(): pass
        """
    )

    run = pytester.runpytest_inprocess(*PLUGIN, "--doctest-glob=page.txt")

    run.assert_outcomes(failed=6)
    told = run.stdout.str()
    assert told.count("\nat-most-once breaks in late") == 3
    assert "passed in 0 of 7 trials" in told
    assert "chaosagent and chaosagent_trials do not go together" in told
    assert "page.txt is no test function, so it cannot be marked chaosagent." in told


def test_a_target_runs_within_a_test_also_while_a_loop_is_running(pytester: pytest.Pytester, folder: Path) -> None:
    assert folder.is_dir()
    pytester.makepyfile(
        f"""
        import pytest
        from agent import shop
        from chaosagent import UsageError

        @pytest.fixture
        def anyio_backend():
            return "asyncio"

        def test_clean(chaosagent_run):
            run = chaosagent_run(shop)
            assert (run.outcome.message, len(run.effects), run.violations) == ("paid", 1, {{}})

        @pytest.mark.anyio
        async def test_faulty(chaosagent_run):
            run = chaosagent_run(shop, {LOST!r}, tasks=["lost"])
            assert run.violations == {{"at-most-once": "refund(order=8) was committed 2 times; 1 is right"}}

        def test_nowhere(chaosagent_run):
            with pytest.raises(UsageError, match="changes nothing in any run"):
                chaosagent_run(shop, {LOST.replace("1", "9")!r})
            with pytest.raises(UsageError, match="unexpected keyword argument 'task'"):
                chaosagent_run(shop, task="lost")
        """
    )

    pytester.runpytest_inprocess(*PLUGIN).assert_outcomes(passed=3)


@pytest.mark.parametrize(
    ("marker", "body", "message"),
    [
        ("", "return shop", "say what is run: at least one of schedules, random, search"),
        ("random=True", "return shop", "chaosagent(random=true): random must be a whole number"),
        ("schedules='service:x[1] service.timeout'", "return shop", "schedules must be a list of texts"),
        ("schedules=['nonsense']", "return shop", "schedules*nonsense*"),
        ("schedules=(text for text in [])", "return shop", "schedules must be a list of texts"),
        ("schedules=['']", "return shop", "'' is no schedule. Write, for example"),
        ("schedules=[5]", "return shop", "5 is no schedule. Write, for example"),
        ("schedules=b'ab'", "return shop", "schedules must be a list of texts"),
        ("random=1, bugdet=3", "return shop", "unexpected keyword argument 'bugdet'"),
        (
            "schedule=['x']",
            "return shop",
            "unexpected keyword argument 'schedule'; known are schedules, random",
        ),
        ("random=1, budget=0.5", "return shop", "nothing can be injected up to a budget of 0.5"),
        ("schedules=['service:payment[1] service.timeout']", "return shop", "Called are: service:payments."),
        ("schedules=['service:payments[9] service.timeout']", "return shop", "changes nothing in any run"),
        ("random=1, budget='x'", "return shop", "chaosagent(): budget is 'x'; it must be a number."),
        ("random=1", "pass", "it returns NoneType. Decorate the agent's function with @chaosagent.target()"),
    ],
)
def test_a_marker_that_cannot_be_followed_is_told(
    pytester: pytest.Pytester, folder: Path, marker: str, body: str, message: str
) -> None:
    assert folder.is_dir()
    pytester.makepyfile(
        f"import pytest\nfrom agent import shop\n\n@pytest.mark.chaosagent({marker})\ndef test_it():\n    {body}\n"
    )

    run = pytester.runpytest_inprocess(*PLUGIN)

    run.assert_outcomes(failed=1)
    run.stdout.fnmatch_lines([f"*{message.replace('[', '[[]')}*"])
    run.stdout.no_fnmatch_line("*Error*")


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


# ---------------------------------------------------------------------- chance


def trial_test(passes: str, arguments: str, head: str = "def") -> str:
    return f"""
        import itertools
        import pytest

        numbers = itertools.count()

        @pytest.fixture
        def anyio_backend():
            return "asyncio"

        @pytest.mark.anyio
        @pytest.mark.chaosagent_trials({arguments})
        {head} test_it():
            assert {passes}, "told"
        """


@pytest.mark.parametrize("head", ["def", "async def"])
@pytest.mark.parametrize(
    ("passes", "arguments", "outcomes", "told"),
    [
        ("next(numbers) % 10 != 9", "threshold=0.5", {"passed": 1}, "*at least 0.5 was asked for"),
        ("next(numbers) % 10 == 9", "threshold=0.5", {"failed": 1}, "passed in 0 of * The last failure: *: told"),
        ("next(numbers) % 2", "threshold=0.5, trials=40", {"skipped": 1}, "*inconclusive: passed in 20 of 40 trials*"),
    ],
    ids=["often enough", "too seldom", "inconclusive"],
)
def test_a_test_of_chance_ends_in_one_of_three_ways(
    pytester: pytest.Pytester, head: str, passes: str, arguments: str, outcomes: dict[str, int], told: str
) -> None:
    pytester.makepyfile(trial_test(passes, arguments, head))

    run = pytester.runpytest_inprocess(*PLUGIN, "-rA")

    run.assert_outcomes(**outcomes)
    run.stdout.fnmatch_lines([told])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "chaosagent_trials(threshold=None): threshold must lie between 0 and 1"),
        ("threshold=1.0", "chaosagent_trials(threshold=1.0): threshold must lie between 0 and 1"),
        ("threshold=0.5, trials=0", "trials must be a whole number from 1 to"),
        ("threshold=0.5, confidence=2", "confidence must lie between 0.5 and 1"),
    ],
)
def test_trials_that_cannot_be_made_are_refused(pytester: pytest.Pytester, arguments: str, message: str) -> None:
    pytester.makepyfile(trial_test("True", arguments))

    run = pytester.runpytest_inprocess(*PLUGIN)

    run.assert_outcomes(failed=1)
    run.stdout.fnmatch_lines([f"*{message}*"])


def test_coroutines_that_another_plugin_runs_are_trials_too(pytester: pytest.Pytester, folder: Path) -> None:
    assert folder.is_dir()
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    head = "@pytest.mark.asyncio\n        async def"
    often, seldom = ("next(numbers) % 10 != 9", "next(numbers) % 10 == 9")
    pytester.makepyfile(
        test_often=trial_test(often, "threshold=0.5", head).replace("@pytest.mark.anyio", ""),
        test_seldom=trial_test(seldom, "threshold=0.5", head).replace("@pytest.mark.anyio", ""),
        test_target=f"""
            import pytest
            from agent import shop

            @pytest.mark.asyncio
            async def test_it(chaosagent_run):
                assert chaosagent_run(shop, {LOST!r}).violations
            """,
    )

    run = pytester.runpytest_subprocess(*PLUGIN, "-p", "pytest_asyncio.plugin")

    run.assert_outcomes(passed=2, failed=1)
    run.stdout.fnmatch_lines(["passed in 0 of * The last failure: AssertionError: told*"])


def test_what_is_no_trial_is_not_counted(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import unittest

        import pytest

        @pytest.mark.chaosagent_trials(threshold=0.5)
        async def test_nobody_awaits(): pass

        @pytest.mark.chaosagent(random=1)
        @pytest.mark.chaosagent_trials(threshold=0.5)
        def test_both(): pass

        class TestOld(unittest.TestCase):
            @pytest.mark.chaosagent_trials(threshold=0.5)
            def test_chance(self): self.fail()

            @pytest.mark.chaosagent(random=1)
            def test_target(self): pass
        """
    )

    run = pytester.runpytest_inprocess(*PLUGIN, "-p", "no:anyio")

    run.assert_outcomes(failed=4)
    run.stdout.no_fnmatch_line("*passed in 0 of*")
    run.stdout.fnmatch_lines(["*so it cannot be marked chaosagent_trials. Make it a function, *"])
    run.stdout.fnmatch_lines(["*chaosagent and chaosagent_trials do not go together*"])


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
    (pytester.path / "tests/replays").mkdir(parents=True)

    before = pytester.runpytest_inprocess(*PLUGIN)
    for record in (pytester.path / "chaosagent-out/pytest").iterdir():
        record.rename(pytester.path / "tests/replays" / record.name)
    after = pytester.runpytest_inprocess(*PLUGIN)

    assert set(files) == {"pytest.ini", "test_agent.py", "test_chance.py"}
    before.assert_outcomes(passed=2, failed=3)
    after.assert_outcomes(passed=2, failed=4)
