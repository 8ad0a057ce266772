"""Progress on stderr: what it says, and how often."""

import io
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chaosagent.cli import progress as shown
from chaosagent.cli.progress import LineDisplay, LiveDisplay, display_for, space_lines, summary_of
from chaosagent.study.levels import Level
from chaosagent.study.plan import Plan
from chaosagent.study.result import OpenViolation, StudyProgress
from chaosagent.studyfile import load_study, plan_of


@pytest.fixture
def plan(folder: Path) -> Plan:
    """Return the plan of the folder's study."""
    return plan_of(load_study(folder / "study.yaml"))


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_line_tells_how_far_a_study_is(plan: Plan) -> None:
    progress = StudyProgress(
        searches=4,
        searches_over=1,
        trials=1_200,
        errors=2,
        found=1,
        best_cost=1.1,
        lower_bound=2.05,
        seconds=10.0,
        rate=120.0,
    )

    line = summary_of(progress, plan)

    for expected in ("1/4 searches", "1 found, best cost 1.1", "nothing below 2.05", "(120/s)", "2 errors"):
        assert expected in line
    assert "1,200 of at most 8,000 trials" in line
    assert line.endswith("10 s")


def test_where_several_are_wanted_the_bound_is_what_all_are_known_below(plan: Plan) -> None:
    progress = StudyProgress(searches=1, found=3, best_cost=1.1, lower_bound=2.05)
    line = summary_of(progress, replace(plan, all_minimal=True))

    assert "3 found, best cost 1.1  all known below 2.05" in line
    assert "proved" not in line


def test_a_line_tells_how_many_runs_were_repeated_behind_the_searches(plan: Plan) -> None:
    line = summary_of(StudyProgress(searches=1, searches_over=1, seconds=9.0, repeats=(3, 8)), plan)

    assert line.endswith("9 s  repeating faulty runs in fresh processes: 3 of 8")


@pytest.mark.parametrize("several", [False, True])
def test_where_answers_come_by_chance_nothing_is_called_proved(plan: Plan, several: bool) -> None:
    progress = StudyProgress(searches=1, found=3, best_cost=1.1, lower_bound=2.05, stochastic=True)
    line = summary_of(progress, replace(plan, all_minimal=several))

    assert ("all confirmed ones known below 2.05" if several else "none confirmed below 2.05") in line
    assert "proved" not in line


@pytest.mark.parametrize("searcher", ["exact", "anytime"])
def test_no_time_left_is_made_up_and_limits_are_told_as_limits(plan: Plan, searcher: str) -> None:
    progress = StudyProgress(searches=4, searches_over=3, trials=100, seconds=600.0)
    limited = replace(plan, searcher=searcher, limits=replace(plan.limits, seconds_max=7_200.0, trials_max=50))

    line = summary_of(progress, limited)

    assert "100 of at most 200 trials" in line
    assert line.endswith("600 s of at most 2.0 h")
    assert "left" not in line


def test_lines_are_far_between_where_nobody_watches(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    stream, now = io.StringIO(), [0.0]
    monkeypatch.setattr(shown, "monotonic", lambda: now[0])
    display = LineDisplay(plan, "study \x1b[31m", stream, every=5.0)

    for second in range(12):
        now[0] = float(second)
        display.progress(StudyProgress(trials=second))
    display.close()

    lines = stream.getvalue().splitlines()
    assert len(lines) == 2
    assert lines[0].startswith(r"study \x1b[31m: ")

    for second in range(8 * 3600):
        now[0] = float(second)
        display.progress(StudyProgress(trials=second))
    assert 100 < len(stream.getvalue().splitlines()) < 250


def test_a_violation_is_told_as_soon_as_it_is_known_and_then_not_again(plan: Plan) -> None:
    stream = io.StringIO()
    display = LineDisplay(plan, "study", stream)

    for cost in (2.2, 2.2, 1.1, 1.1):
        display.progress(StudyProgress(violations=(OpenViolation("late", 0, "no-crash", cost),)))

    assert stream.getvalue().splitlines() == [
        "study: no-crash broken in late, seed 0: cost 2.2, not reduced yet",
    ]


def test_limits_that_end_a_session_before_a_level_of_cost_is_through_are_told(plan: Plan) -> None:
    levels = (Level(1, 100, 0, 0), Level(2, 5_000, 0, 0), Level(3, 80_000, 0, 0))
    progress = StudyProgress(searches=4, levels=levels, seconds=10.0)
    plan = replace(plan, budget=3.3)

    def told(**limits: Any) -> str:
        return "\n".join(space_lines(progress, replace(plan, limits=replace(plan.limits, **limits)), rate=100.0))

    assert "cost 3 to 3.3: at least 80,000 schedules; to run all up to there takes 14 min" in told(trials_max=10**6)
    assert "ends" not in told(trials_max=10**6)
    assert "search ends after 500 trials (search.trials), perhaps before all of cost 2 to 3" in told(trials_max=500)
    session = told(trials_max=10**6, seconds_max=40.0)
    assert "this session ends in 30 s (search.seconds), perhaps before all of cost 2 to 3 was tried" in session
    assert "ends" not in told(trials_max=10**6, seconds_max=4_000.0)


@pytest.mark.parametrize(("rate", "shown"), [(0.318, "0.32"), (4.0, "4"), (1234.5, "1,234")])
def test_a_rate_is_told_with_digits_that_count(plan: Plan, rate: float, shown: str) -> None:
    progress = StudyProgress(searches=4, levels=(Level(1, 100, 0, 0),))

    (line, *_) = space_lines(progress, plan, rate=rate)

    assert line.endswith(f"at {shown} runs a second")


def test_the_live_display_counts_seconds_without_changing_what_others_are_told(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(shown, "monotonic", lambda: now[0])
    stream = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    display, progress = LiveDisplay(plan, "study", stream), StudyProgress(seconds=3_600.0)
    display.progress(progress)
    now[0] = 5.0
    display.close()

    assert "3605 s" in stream.getvalue()
    assert progress.seconds == 3_600.0


def test_a_terminal_gets_a_live_display_and_a_log_gets_lines(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    live = display_for(plan, "study [bold]")
    live.progress(StudyProgress(trials=7, current="task \x1b[2J"))
    live.close()
    screen = terminal.getvalue()
    monkeypatch.setattr(sys, "stderr", io.StringIO())

    assert isinstance(live, LiveDisplay)
    assert "study [bold]" in screen
    assert "7 trials" in screen
    assert r"task \x1b[2J" in screen
    assert isinstance(display_for(plan, "study"), LineDisplay)

    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(display_for(plan, "study"), LineDisplay)


@pytest.mark.slow
def test_an_interrupted_search_tells_what_it_has(chaosagent: Callable[..., Any], folder: Path) -> None:
    agent = folder / "agent.py"
    wait = "            await run.clock.sleep(1)\n"
    interrupt = '            if task.id == "lost" and next(RETRIES) == 2:\n                signal.raise_signal(2)\n'
    text = agent.read_text("utf-8").replace(wait, f"{interrupt}{wait}")
    agent.write_text(f"{text}\n\nimport itertools, signal\n\nRETRIES = itertools.count()\n", encoding="utf-8")

    answer = chaosagent("search", "study.yaml")

    assert answer.code == 130
    assert "One counterexample" in answer.out
    assert "had not finished." in answer.out
    assert len(list(folder.rglob("*.replay"))) == 1
