"""Pages in a real browser: quiet, alone, complete, and no wider than a phone. Skipped where there is no Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from chaosagent.report.html.render import page_of, page_of_several, write_page
from chaosagent.report.html.study_facts import StudyFacts
from tests.report.html.browser import CHROMIUM, Browser, open_browser

pytest.importorskip("jinja2", reason="needs the extra `report`")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine (apt-get install chromium)"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Return a browser."""
    with open_browser() as opened:
        yield opened


STUDIES = ("broken", "robust", "running", "interrupted", "erred", "by_chance", "many", "long")


@pytest.mark.parametrize("name", STUDIES)
@pytest.mark.parametrize(("width", "dark"), [(1280, True), (390, False)])
def test_a_page_is_quiet_alone_complete_and_fits(
    browser: Browser, name: str, *, width: int, dark: bool, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    facts: StudyFacts = request.getfixturevalue(name)
    path = tmp_path / "report.html"
    write_page(page_of(facts), path)

    browser.open(path, width=width, dark=dark)

    assert browser.messages == []
    assert browser.requests == [path.as_uri()]
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    shown = browser.evaluate(
        "[...document.querySelectorAll('[data-counterexample]')].map(x => x.dataset.counterexample)"
    )
    assert sorted(shown) == sorted(one.record.id for one in facts.counterexamples)


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_a_page_of_several_studies_is_quiet_and_fits_and_a_link_opens_its_study(
    browser: Browser, broken: StudyFacts, robust: StudyFacts, *, width: int, dark: bool, tmp_path: Path
) -> None:
    path = tmp_path / "report.html"
    write_page(page_of_several([broken, robust, broken]), path)

    browser.open(path, width=width, dark=dark)
    is_open = browser.evaluate("location.hash = '#s2-study'; document.getElementById('s2-study').open")

    assert browser.messages == []
    assert browser.requests == [path.as_uri()]
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    assert is_open or browser.evaluate("document.getElementById('s2-study').open")


def test_the_filter_hides_what_does_not_match(browser: Browser, broken: StudyFacts, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_page(page_of(broken), path)
    browser.open(path)

    count = browser.evaluate(
        "f = document.getElementById('filter'); f.value = 'no such thing'; f.dispatchEvent(new Event('input'));"
        "[...document.querySelectorAll('.card')].filter(x => !x.hidden).length"
    )

    assert count == 0
    assert browser.messages == []
