"""The page says what the folder proves and no more, holds every counterexample, and runs nothing of a target's."""

from __future__ import annotations

import base64
import hashlib
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaosagent.errors import MissingExtraError, UsageError
from chaosagent.report.causes.cause import causes_of, finding_in
from chaosagent.report.html.conclusion import conclusion_of
from chaosagent.report.html.curve import costs_of, points_of
from chaosagent.report.html.meanings import contract_meaning
from chaosagent.report.html.numbers import numbers_of
from chaosagent.report.html.render import page_of, write_page
from chaosagent.report.html.study_facts import SearchFact, StudyFacts
from chaosagent.report.html.view import STORIES_MAX

INFINITE = float("inf")
pytest.importorskip("jinja2", reason="needs the extra `report`")


class Tags(HTMLParser):
    """Collects the elements of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += attrs


def verdict_of(facts: StudyFacts) -> str:
    found = (finding_in(one.record, one.calls) for one in facts.counterexamples)
    conclusion = conclusion_of(facts, causes_of(found))
    return " ".join((conclusion.verdict, conclusion.rest, *conclusion.details))


def test_a_study_that_broke_says_what_is_enough_and_what_is_proved(broken: StudyFacts) -> None:
    told = verdict_of(broken)

    assert told.startswith("Not robust. Every task breaks within cost 1.2 on a single fault. One fault")
    assert "Nothing cheaper than 1.1 breaks any contract in the declared space. This is proved." in told


def test_a_study_without_violations_is_called_proved(robust: StudyFacts) -> None:
    assert verdict_of(robust) == (
        "Robust. Nothing up to cost 1.2 breaks it, in the declared space. This is proved. Each proof has assumptions; "
        "they stand below, under “What each search proved”."
    )
    assert robust.searches[0].text in page_of(robust), "what a proof rests on is on the page, too"
    assert 'id="broke"' not in page_of(robust)
    unknown = page_of(replace(robust, not_tried=None))
    assert "Every operator that fits" not in unknown
    assert "is not known: the store does not say where the target calls something." in unknown


def test_nothing_is_called_proved_that_certificates_do_not_prove(broken: StudyFacts, robust: StudyFacts) -> None:
    unproved = [one._replace(level="C0", safe=False, lower_bound=0.0) for one in robust.searches]
    by_chance = [one._replace(level="S", safe=False, lower_bound=INFINITE) for one in robust.searches]
    nominally = [one._replace(violated_nominally=True, safe=False) for one in robust.searches]

    assert "Inconclusive. Nothing was found, and 0 of" in verdict_of(replace(robust, searches=unproved))
    assert "clean runs show that, and no proof" in verdict_of(replace(robust, searches=by_chance, stochastic=True))
    assert verdict_of(replace(robust, searches=nominally)).startswith("Broken. One search breaks without any fault")
    for state in ("running", "killed", "interrupted", "out of time"):
        told = verdict_of(replace(broken, state=state))
        assert told.startswith("So far: Not robust.")
        assert "This is proved" not in told
        assert "Robust." not in verdict_of(replace(robust, state=state))
    assert "This is proved" not in verdict_of(replace(broken, stochastic=True))
    assert "This is part 1/2 of the study" in verdict_of(replace(robust, shard="1/2"))
    told = verdict_of(replace(robust, errors=2))
    assert told.endswith("Two runs ended with an error; what is proved ends below the cost of the cheapest of them.")
    unproved = [one._replace(level="C0", safe=False, lower_bound=0.0) for one in robust.searches]
    told = verdict_of(replace(robust, searches=unproved, errors=2, executions=2))
    assert told.startswith("Inconclusive. No run could be executed, so nothing was searched.")


def test_the_page_says_when_the_study_was_run(broken: StudyFacts) -> None:
    dated = replace(broken, begun="2026-03-01T22:00:05Z", ended="2026-03-02T05:30:00Z")

    assert re.fullmatch(r"\d{4}(-\d\d){2} \d\d:\d\d:\d\d to \d{4}(-\d\d){2} \d\d:\d\d:\d\d UTC", broken.dates)
    assert "· ended · 2026-03-01 22:00:05 to 2026-03-02 05:30:00 UTC</p>" in page_of(dated)
    assert replace(dated, ended="").dates == "begun 2026-03-01 22:00:05 UTC"
    assert replace(dated, begun="").dates == ""
    assert (numbers_of(dated)["begun"], numbers_of(dated)["ended"]) == (dated.begun, dated.ended)


def test_no_text_of_a_target_is_markup(broken: StudyFacts) -> None:
    page = page_of(broken)
    tags = Tags(page)

    assert "&lt;script&gt;alert(1)" in page
    assert tags.names.count("script") == 1
    assert "img" not in tags.names
    assert "\x1b" not in page
    assert "\u202e" not in page
    names = {name for name, _ in tags.attributes}
    assert not names & {"style", "src", "srcset", "action"}
    assert not any(name.startswith("on") for name in names)
    assert all((value or "").startswith("#") for name, value in tags.attributes if name == "href")


def test_the_policy_names_its_own_style_and_script_and_nothing_else(broken: StudyFacts) -> None:
    page = page_of(broken)
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)

    parts = dict(part.split(" ", 1) for part in policy.split("; "))
    assert parts["default-src"] == "'none'"
    for kind in ("style", "script"):
        (text,) = re.findall(rf"<{kind}>(.*?)</{kind}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert parts[f"{kind}-src"] == f"'sha256-{digest}'"


def test_every_counterexample_is_on_the_page(broken: StudyFacts) -> None:
    page = page_of(broken)

    ids = re.findall(r'data-counterexample="(\w+)"', page)
    assert sorted(ids) == sorted(one.record.id for one in broken.counterexamples)


def test_the_run_stands_beside_the_run_without_faults(broken: StudyFacts) -> None:
    page = page_of(broken)

    assert page.count("first difference</span>") == 2  # one of each task's story
    assert "◆ injected: service.lost_response: the connection is reset; the service has acted" in page
    assert "✗ broken here:" in page
    assert ">the same<" in page


def test_a_card_says_what_its_contracts_and_its_proof_mean(broken: StudyFacts) -> None:
    meaning = "A run whose outcome is not a success is a violation."
    (one, *_) = (one for one in broken.counterexamples if one.record.contract == "objective")
    own = replace(one.record, contract_specs=("rules.py:objective",))

    assert contract_meaning(one.record) == meaning
    assert contract_meaning(own) == "", "somebody's own contract of that name may mean something else"
    page = page_of(broken)
    assert f"<b>objective:</b> {meaning}" in page
    assert "nothing cheaper in the declared space breaks this contract" in page
    assert "more than once, is a violation." in page


def test_the_report_page_holds_the_page_of_each_pattern_that_it_names(broken: StudyFacts) -> None:
    page = page_of(broken)

    named = set(re.findall(r'href="#(pattern-[\w-]+)"', page))
    assert named == {"pattern-retry-without-key"}
    assert set(re.findall(r'id="(pattern-[\w-]+)"', page)) == named
    assert "is another one for each attempt and does not help." in page


@pytest.mark.slow
def test_a_page_of_2000_counterexamples_stays_below_5_megabytes(many: StudyFacts) -> None:
    page = page_of(many)

    assert len(set(re.findall(r'data-counterexample="(\w+)"', page))) == 2000
    assert page.count('class="how"') == STORIES_MAX
    assert len(page.encode()) < 5_000_000


searches = st.lists(
    st.builds(
        SearchFact,
        st.just("task"),
        st.just(0),
        st.just("objective"),
        st.sampled_from(("C0", "C1", "C2")),
        st.sampled_from((0.0, 1.0, 1.1, 2.2, INFINITE)),
        st.none(),
        st.booleans(),
        st.booleans(),
        st.booleans(),
        st.just(1),
        st.just(""),
    ).flatmap(
        lambda one: st.sampled_from((None, 1.0, 1.1, 2.2, 3.0)).map(
            lambda cost: one._replace(cost=cost if cost is None or cost >= one.lower_bound else None)
        )
    ),
    min_size=1,
    max_size=8,
)


@given(searches)
def test_the_curve_never_rises_and_what_is_proved_lies_at_or_below_it(drawn: list[SearchFact]) -> None:
    points = points_of(drawn, 3.3, stochastic=False)

    assert points[0].budget == 0
    for before, after in pairwise(points):
        assert after.budget > before.budget
        assert after.upper <= before.upper
        assert after.lower <= before.lower
    assert all(0 <= point.lower <= point.upper <= 1 for point in points)


def test_a_page_is_written_whole_or_not_at_all(broken: StudyFacts, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot be written: No such file or directory\. Make room, or choose"):
        write_page(page_of(broken), tmp_path / "missing" / "report.html")
    write_page(page_of(broken), tmp_path / "report.html")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_without_jinja2_the_message_names_the_extra(broken: StudyFacts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)

    with pytest.raises(MissingExtraError, match=re.escape("chaosagent[report]")):
        page_of(broken)


def test_a_study_and_its_folder_name_the_same_causes(study_of: Callable[..., StudyFacts]) -> None:
    facts = study_of(3, "calm", "late")
    stored = {one.record.id: one for one in facts.counterexamples}

    assert all(one.calls for one in stored.values())
    assert numbers_of(facts)["trials"] == facts.trials


def test_what_was_found_and_proved_over_the_runs_is_drawn_only_where_it_is_proved(broken: StudyFacts) -> None:
    assert [cost for _, cost in broken.best_costs] == sorted({cost for _, cost in broken.best_costs}, reverse=True)
    assert broken.best_costs[-1][1] == min(one.record.cost for one in broken.counterexamples)
    assert [bound for _, bound in broken.bounds] == sorted(bound for _, bound in broken.bounds)

    told = costs_of(replace(broken, bounds=[(0, 0.0), (3, 1.0)]))
    assert told is not None
    assert told.best
    assert told.bound
    for unproved in (replace(broken, state="interrupted"), replace(broken, bounds=[])):
        left = costs_of(replace(unproved))
        assert left is not None
        assert not left.bound
