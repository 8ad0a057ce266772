"""Settings of searchers are checked against what their factories declare."""

from __future__ import annotations

from typing import Annotated, Literal

import pytest

from chaosagent.errors import UnknownNameError, UsageError
from chaosagent.study.searcher import Problem
from chaosagent.study.searcher_settings import Within, check_settings, describe_annotation, settings_of


def at(name: str) -> str:
    return {"width": "study.yaml:3"}.get(name, "study.yaml:4")


def few(problem: Problem, *, width: int = 3) -> None:
    del problem, width


def whatever(problem: Problem, **settings: object) -> None:
    del problem, settings


def plain(problem, *, width=3):  # type: ignore[no-untyped-def]  # as somebody may write it
    del problem, width


class Bounded:
    """Declares what it takes."""

    def __init__(
        self,
        problem: Problem,
        *,
        width: Annotated[int, Within(1, 1_000_000)] = 3,
        share: Annotated[float, Within(0.0, 0.5)] = 0.5,
        limit: Annotated[int, Within(1, 9)] | None = None,
        mode: Literal["fast", "thorough"] | None = None,
        note: Annotated[str, "for people"] = "",
    ) -> None:
        del problem, width, share, limit, mode, note


def test_a_setting_that_a_searcher_does_not_have_is_refused_with_the_nearest() -> None:
    check_settings("few", few, {"width": 4}, at)

    with pytest.raises(UnknownNameError, match=r"study\.yaml:4: unknown setting of searcher 'few': 'widht'.*'width'"):
        check_settings("few", few, {"width": 4, "widht": 4}, at)


def test_a_rule_that_only_another_searcher_has_is_refused_with_its_name() -> None:
    with pytest.raises(
        UsageError,
        match=r"lineage is a setting of `searcher: exact`, and not of 'few'\. Write .* Settings of 'few': width\.$",
    ):
        check_settings("few", few, {"lineage": True}, at)


def test_a_searcher_that_takes_any_setting_is_given_any() -> None:
    check_settings("whatever", whatever, {"lineage": True, "anything": 4})


def test_a_setting_without_an_annotation_may_be_anything() -> None:
    check_settings("plain", plain, {"width": "wide"})

    with pytest.raises(UnknownNameError, match="'widht'"):
        check_settings("plain", plain, {"widht": 4})


@pytest.mark.parametrize(
    "settings",
    [
        {"width": 1, "share": 0, "limit": 1},
        {"width": 1_000_000, "share": 0.5, "limit": 9},
        {"limit": None, "mode": None, "note": "x"},
        {"mode": "thorough"},
    ],
)
def test_what_is_declared_is_accepted_up_to_its_bounds(settings: dict[str, object]) -> None:
    check_settings("bounded", Bounded, settings)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"width": 0}, "width is 0; it must be a whole number from 1 to 1000000."),
        ({"width": 1_000_001}, "width is 1000001; it must be a whole number from 1 to 1000000."),
        ({"width": 2.0}, "width is 2.0; it must be a whole number from 1 to 1000000."),
        ({"width": True}, "width is true; it must be a whole number from 1 to 1000000."),
        ({"width": "3"}, "width is '3'; it must be a whole number from 1 to 1000000."),
        ({"share": 0.51}, "share is 0.51; it must be a number from 0 to 0.5."),
        ({"share": float("nan")}, "share is nan; it must be a number from 0 to 0.5."),
        ({"share": float("inf")}, "share is inf; it must be a number from 0 to 0.5."),
        ({"limit": 10}, "limit is 10; it must be a whole number from 1 to 9 or null."),
        ({"mode": "fsat"}, "mode is 'fsat'; it must be one of 'fast', 'thorough' or null. Did you mean 'fast'?"),
        ({"note": 1}, "note is 1; it must be a text."),
    ],
)
def test_a_value_that_is_not_declared_is_refused_with_what_is(settings: dict[str, object], complaint: str) -> None:
    with pytest.raises(UsageError, match=r"search\.settings") as caught:
        check_settings("bounded", Bounded, settings)

    assert str(caught.value) == f"searcher 'bounded': search.settings.{complaint}"


def test_a_refused_value_is_named_with_its_own_line() -> None:
    with pytest.raises(UsageError, match=r"^study\.yaml:3: search\.settings\.width is 0;"):
        check_settings("bounded", Bounded, {"share": 0.1, "width": 0}, at)


def test_what_a_setting_may_be_is_said_in_words_as_far_as_it_is_known() -> None:
    said = {name: describe_annotation(annotation) for name, annotation in settings_of(Bounded).items()}

    assert said["width"] == "a whole number from 1 to 1000000"
    assert said["mode"] == "one of 'fast', 'thorough' or null"
    assert describe_annotation(settings_of(plain)["width"]) == describe_annotation(Problem) == ""
