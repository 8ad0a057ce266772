"""The combinators against naive evaluators that look at a whole run at once."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from chaosagent.contracts.contract import Contract
from chaosagent.contracts.temporal import always, count, never, since, until, within
from chaosagent.errors import UsageError
from chaosagent.testing.steps import make_end, make_setting, make_step, watch
from chaosagent.trace.step import Step
from chaosagent.vocabulary import Severity, Verdict

OPERATIONS = "abcn"
runs = st.lists(st.sampled_from(OPERATIONS), max_size=14).map("".join)
windows = st.integers(1, 5)


def is_a(step: Step) -> bool:
    return step.operation == "a"


def is_b(step: Step) -> bool:
    return step.operation == "b"


def not_a(step: Step) -> bool:
    return step.operation != "a"


def steps_of(run: str) -> list[Step]:
    return [make_step(index, operation=operation) for index, operation in enumerate(run)]


def broken_at(contract: Contract, run: str) -> int | None:
    """The step at which a contract is violated; the length of the run for its end, `None` if it holds."""
    monitor = contract.monitor(make_setting())
    for step in steps_of(run):
        reading = monitor.step(step)
        if reading is not None and reading.verdict is Verdict.VIOLATED:
            return step.index
    return len(run) if monitor.end(make_end()).verdict is Verdict.VIOLATED else None


@given(runs)
def test_never_is_always_not(run: str) -> None:
    assert broken_at(never(is_a, id="x"), run) == broken_at(always(not_a, id="x"), run)


@given(runs)
def test_never_is_broken_at_the_first_step_that_is_meant(run: str) -> None:
    assert broken_at(never("a", id="x"), run) == (run.index("a") if "a" in run else None)


@given(runs, windows)
def test_within_agrees_with_looking_ahead_from_every_trigger(run: str, steps: int) -> None:
    late = [
        min(index + steps, len(run))
        for index, operation in enumerate(run)
        if operation == "a" and "b" not in run[index + 1 : index + 1 + steps]
    ]

    assert broken_at(within(is_a, is_b, steps=steps, id="x"), run) == min(late, default=None)


@given(runs, st.none() | windows)
def test_since_agrees_with_looking_back_from_every_action(run: str, steps: int | None) -> None:
    bare = [
        index
        for index, operation in enumerate(run)
        if operation == "a" and "b" not in run[0 if steps is None else max(0, index - steps) : index]
    ]

    assert broken_at(since(is_a, is_b, steps=steps, id="x"), run) == min(bare, default=None)


@given(st.lists(st.tuples(st.sampled_from("abn"), st.integers(0, 2)), max_size=14), st.none() | windows)
def test_since_with_the_same_argument_looks_back_for_that_argument(
    run: list[tuple[str, int]], steps: int | None
) -> None:
    contract = since(is_a, is_b, steps=steps, same="order", id="x")
    made = [
        make_step(index, operation=operation, arguments={"order": order})
        for index, (operation, order) in enumerate(run)
    ]
    bare = any(
        operation == "a" and ("b", order) not in run[0 if steps is None else max(0, index - steps) : index]
        for index, (operation, order) in enumerate(run)
    )

    assert (watch(contract, made)[-1].verdict is Verdict.VIOLATED) is bare


@given(runs, st.booleans())
def test_until_agrees_with_the_steps_before_the_first_release(run: str, must_come: bool) -> None:
    before, release, _ = run.partition("b")
    first_bad = next((index for index, operation in enumerate(before) if operation == "a"), None)
    expected = first_bad if first_bad is not None else len(run) if must_come and not release else None

    assert broken_at(until(not_a, is_b, must_come=must_come, id="x"), run) == expected


@given(runs, st.none() | st.integers(0, 4), st.none() | st.integers(1, 4))
def test_count_agrees_with_counting_at_the_end(run: str, at_most: int | None, at_least: int | None) -> None:
    assume(at_most is not None or at_least is not None)
    assume(at_most is None or at_least is None or at_most >= at_least)
    places = [index for index, operation in enumerate(run) if operation == "a"]
    too_many = places[at_most] if at_most is not None and len(places) > at_most else None
    too_few = len(run) if at_least is not None and len(places) < at_least else None

    found = broken_at(count(is_a, at_most=at_most, at_least=at_least, id="x"), run)

    assert found == (too_many if too_many is not None else too_few)


def test_margins_tell_how_close_a_run_came() -> None:
    margins = {
        "within": watch(within("a", "b", steps=4, id="x"), steps_of("annb"))[-1].margin,
        "since": watch(since("a", "b", steps=4, id="x"), steps_of("bnna"))[-1].margin,
        "at most": watch(count("a", at_most=3, id="x"), steps_of("aa"))[-1].margin,
        "at least": watch(count("a", at_least=4, id="x"), steps_of("a"))[-1].margin,
    }

    assert margins == {"within": 0.5, "since": 0.5, "at most": 0.5, "at least": -0.75}


def test_a_window_that_is_used_to_its_last_step_still_has_a_margin() -> None:
    assert watch(within("a", "b", steps=3, id="x"), steps_of("annb"))[-1].margin > 0.0
    assert watch(since("a", "b", steps=3, id="x"), steps_of("bnna"))[-1].margin > 0.0


def test_the_state_of_since_speaks_of_ages_and_not_of_indices() -> None:
    contract = since(is_a, is_b, steps=3, id="x")
    early, late = contract.monitor(make_setting()), contract.monitor(make_setting())

    for step in steps_of("bn"):
        early.step(step)
    for step in steps_of("nbnnbn"):
        late.step(step)

    assert early.state() == late.state()


def test_a_combined_contract_keeps_its_terms_and_survives_pickling() -> None:
    required = never("c", id="possible")
    contract = since(is_a, "b", steps=2, id="x", severity=Severity.SOFT, weight=0.5, requires=required)

    again = pickle.loads(pickle.dumps(contract))

    assert again == contract
    assert (again.id, again.severity, again.weight, again.requires) == ("x", Severity.SOFT, 0.5, required)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: within("a", "b", steps=0, id="x"), r"x\(steps=0\): steps must be a whole number, 1 or more"),
        (lambda: since("a", "b", steps=0, id="x"), r"x\(steps=0\): steps must be"),
        (lambda: count("a", id="x"), "x: count needs at_most, at_least or both"),
        (lambda: count("a", at_most=1, at_least=2, id="x"), "no number fits both"),
        (lambda: count("a", at_most=-1, id="x"), r"at_most must be a whole number, 0 or more"),
        (lambda: never("", id="x"), "step pattern ''"),
        (lambda: never(7, id="x"), "x: 7 is no step predicate"),  # type: ignore[arg-type]  # the mistake
        (lambda: never("a", id=""), "the id must be a text"),
        (lambda: never("a", id="x", weight=-1.0), r"x\(weight=-1.0\)"),
        (lambda: never("a", id="x", weight=float("nan")), r"x\(weight=nan\)"),
        (lambda: never("a", id="x", severity="loud"), r"x\(severity='loud'\)"),  # type: ignore[arg-type]  # the mistake
        (lambda: never("a", id="x", requires="y"), r"x\(requires='y'\)"),  # type: ignore[arg-type]  # the mistake
    ],
)
def test_a_combinator_refuses_what_makes_no_sense(make: Callable[[], Contract], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make()
