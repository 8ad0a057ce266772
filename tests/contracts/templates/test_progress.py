"""`progress`: windows with and without progress."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chaosagent.contracts.contract import Reading
from chaosagent.contracts.templates.progress import SEEN_MAX, Progress
from chaosagent.testing.steps import make_note, make_setting, make_step, watch
from chaosagent.trace.step import Step, StepKind
from chaosagent.vocabulary import Effect, Failure, Verdict


def step_of(index: int, letter: str) -> Step:
    """A failure (`x`), a repeated answer (`=`), an effect (`e`), a note (`n`), a new answer (anything else)."""
    if letter == "x":
        return make_step(index, failure=Failure("timeout", ""))
    if letter == "n":
        return make_note(index, "thinking")
    if letter == "e":
        return make_step(index, kind=StepKind.LATE, effects=[Effect("pay", {})])
    return make_step(index, answer="the same" if letter == "=" else index)


def said(run: str, window: int = 3) -> Reading:
    return watch(Progress(window=window), [step_of(i, letter) for i, letter in enumerate(run)])[-1]


def test_new_answers_are_progress_and_repeated_ones_are_not() -> None:
    assert said("abcdefgh").verdict is Verdict.HOLDS
    assert said("a====").verdict is Verdict.VIOLATED


def test_failures_are_no_progress() -> None:
    assert said("xxaxxb").verdict is Verdict.HOLDS
    assert said("axxx").verdict is Verdict.VIOLATED
    assert said("axxx").reason.startswith("no progress in 3 steps, the last <step 3")


def test_an_effect_is_progress_even_without_an_answer() -> None:
    assert said("xxexx").verdict is Verdict.HOLDS


def test_notes_count_neither_way() -> None:
    assert said("xxnn").verdict is Verdict.HOLDS
    assert said("xxnnx").verdict is Verdict.VIOLATED


def test_the_margin_is_what_was_left_when_the_run_came_closest() -> None:
    assert said("axxxabxab", window=4).margin == 0.25


@given(st.lists(st.sampled_from([0.0, 1.0, 2.0, 3.0]), max_size=12))
def test_a_potential_that_falls_nowhere_in_a_window_is_a_violation(potentials: list[float]) -> None:
    window = 3
    stuck = [
        (index > 0 and 0.0 < value >= potentials[index - 1]) or (index == 0 and value > 0.0)
        for index, value in enumerate(potentials)
    ]
    collapsed = any(all(stuck[index : index + window]) for index in range(len(stuck) - window + 1))
    contract = Progress(window=window, potential=lambda step: potentials[step.index])

    last = watch(contract, [make_step(index) for index in range(len(potentials))])[-1]

    assert (last.verdict is Verdict.VIOLATED) is collapsed


def test_a_potential_may_stay_silent() -> None:
    known = {0: 2.0}
    contract = Progress(window=3, potential=lambda step: known.get(step.index))

    assert watch(contract, [make_step(index) for index in range(2)])[-1].verdict is Verdict.HOLDS
    assert watch(contract, [make_step(index) for index in range(3)])[-1].verdict is Verdict.VIOLATED


def test_what_is_remembered_of_answers_has_a_limit() -> None:
    monitor = Progress().monitor(make_setting())

    for index in range(SEEN_MAX + 1):
        monitor.step(make_step(index, answer=index))

    assert monitor.step(make_step(SEEN_MAX + 1, answer=0)) is None
    repeated = monitor.step(make_step(SEEN_MAX + 2, answer=SEEN_MAX))
    assert repeated is not None
    assert repeated.margin < 1.0
