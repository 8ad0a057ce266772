"""Tests that pass by chance."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pytest_plugin.conftest import LOST, PLUGIN

pytest_plugins = ["pytester"]


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
