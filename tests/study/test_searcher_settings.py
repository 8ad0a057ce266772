"""Settings of searchers are checked against what their factories take."""

from __future__ import annotations

import pytest

from chaosagent.errors import UnknownNameError, UsageError
from chaosagent.study.searcher import Problem
from chaosagent.study.searcher_settings import check_setting

AT = "study.yaml:3"


def few(problem: Problem, *, width: int = 3) -> None:
    del problem, width


def whatever(problem: Problem, **settings: object) -> None:
    del problem, settings


def test_a_setting_that_a_searcher_does_not_have_is_refused_with_the_nearest() -> None:
    check_setting("few", few, "width", 4, where=AT)

    with pytest.raises(UnknownNameError, match=r"study\.yaml:3: unknown setting of searcher 'few': 'widht'.*'width'"):
        check_setting("few", few, "widht", 4, where=AT)


def test_a_rule_that_only_another_searcher_has_is_refused_with_its_name() -> None:
    with pytest.raises(
        UsageError,
        match=r"lineage is a setting of `searcher: exact`, and not of 'few'\. Write .* Settings of 'few': width\.$",
    ):
        check_setting("few", few, "lineage", True, where=AT)


def test_a_searcher_that_takes_any_setting_is_given_any() -> None:
    check_setting("whatever", whatever, "lineage", True, where=AT)
    check_setting("whatever", whatever, "anything", 4, where=AT)
