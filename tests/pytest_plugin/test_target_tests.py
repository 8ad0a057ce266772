"""Targets under faults in tests, and single runs of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaosagent.faults.operator import CostModel
from chaosagent.replays.store import find_records, read_record
from tests.cli.conftest import AGENT
from tests.pytest_plugin.conftest import FIXED, LOST, PLUGIN

pytest_plugins = ["pytester"]


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


def test_random_faults_that_are_not_needed_are_left_out(pytester: pytest.Pytester, folder: Path) -> None:
    assert folder.is_dir()
    two_calls = AGENT.replace(
        "    payments =", '    await run.service("crm", {"look": lambda: 1})("look")\n    payments ='
    ).replace("except ConnectionError", "except Exception")
    pytester.makepyfile(
        agent=two_calls,
        test_it="""
        import pytest
        from agent import shop

        @pytest.mark.chaosagent(
            random=60, budget=5, operators=["service.lost_response", "service.delay"], contracts=["at-most-once"]
        )
        def test_shop(): return shop
        """,
    )

    pytester.runpytest_inprocess(*PLUGIN).assert_outcomes(failed=1)

    (kept,) = find_records([folder / "chaosagent-out/pytest"])
    record = read_record(kept)
    assert str(record.schedule) == LOST
    assert (record.cost, len(record.trace.landed)) == (record.schedule.declared_cost(CostModel()), 1)


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


@target(tasks=[Task("one")])
async def reopens(task, run):
    for _ in range(2):
        await run.service("bank", {"pay": lambda: 1})("pay")
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


@pytest.mark.parametrize("way", [pytest.param("search=30", marks=pytest.mark.slow), "random=5"])
def test_a_target_that_no_fault_tests_never_passes(pytester: pytest.Pytester, way: str) -> None:
    targets = ("crashes", "idle", "odd", "reopens", "once")
    marked = (f"@pytest.mark.chaosagent({way})\ndef test_{name}():\n    return {name}\n" for name in targets)
    pytester.makepyfile("\n\n".join([UNSOUND, *marked]))

    run = pytester.runpytest_inprocess(*PLUGIN)

    run.assert_outcomes(failed=5)
    run.stdout.fnmatch_lines(
        [
            "no-crash breaks in one*",
            "*RuntimeError: always*",
            "chaosagent(*=...): nothing can be injected up to a budget of 3 in task 'two', seed 0, *",
            "*target 'odd' (*) returned int; it must return chaosagent.Outcome(*",
            "*target 'reopens', task 'one': The target opens 'service:bank' twice*",
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


def test_a_single_run_says_where_it_crashed(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        f"""{UNSOUND}
def test_it(chaosagent_run):
    run = chaosagent_run(crashes)
    assert not run.outcome.message
    assert run.crash.startswith("RuntimeError: always (at test_a_single_run_says_where_it_crashed.py:")
    assert run.crash in repr(run)
    assert "crashed" not in repr(chaosagent_run(idle))
    assert chaosagent_run(idle).crash == ""

"""
    )

    run = pytester.runpytest_inprocess(*PLUGIN)

    run.assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("'service:nope[[]1] service.timeout'", "service:nope*changes nothing in any run*"),
        ("'nonsense'", "*nonsense*"),
        ("tasks='late'", "test_*.py:5: tasks is 'late'; it must be a list*"),
        ("tasks=['nope']", "test_*.py:5: unknown task of target shop: 'nope'. Known: late, lost."),
        ("task='late'", "chaosagent_run(): *unexpected keyword argument 'task'*"),
    ],
)
def test_a_wrong_single_run_shows_the_line_of_the_test_alone(
    pytester: pytest.Pytester, folder: Path, given: str, told: str
) -> None:
    assert folder.is_dir()
    given = given.replace("[[]", "[")
    pytester.makepyfile(
        f"from agent import shop\n\n\ndef test_it(chaosagent_run):\n    chaosagent_run(shop, {given})\n"
    )

    run = pytester.runpytest_inprocess(*PLUGIN)

    run.assert_outcomes(failed=1)
    run.stdout.fnmatch_lines([">       chaosagent_run(shop, *", f"E*{told}"])
    run.stdout.no_fnmatch_line("*pytest_plugin*.py*")
    run.stdout.no_fnmatch_line("*study*.py*")


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
        ("random=1, budget='x'", "return shop", "test_*.py:4: chaosagent(): budget is 'x'; it must be a number."),
        ("random=1, tasks=['nope']", "return shop", "test_*.py:4: unknown task of target shop: 'nope'. Known: late,"),
        ("search=9, tasks=['nope']", "return shop", "test_*.py:4: unknown task of target shop: 'nope'. Known: late,"),
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
    run.stdout.no_fnmatch_line("*runner.py*")
