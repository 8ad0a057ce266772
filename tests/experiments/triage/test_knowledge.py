"""BM25 retrieval over the help pages."""

from __future__ import annotations

import pytest

from chaosagent.experiments.triage.knowledge import Article, KnowledgeBase, help_pages, words


def _ids(query: str, top: int = 3) -> list[object]:
    found = help_pages().search(query, top)
    return [passage["id"] for passage in found if isinstance(passage, dict)]


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("The sneakers from the clearance sale do not fit, can I return them?", "returns-clearance"),
        ("I want to return my order within 30 days", "returns-general"),
        ("my mug arrived broken", "damaged-goods"),
        ("parcel was left with a neighbour", "neighbour"),
        ("how long does my refund take", "refund-time"),
        ("can items that I bought as a club member be returned", "returns-club"),
        ("forgot my password", "password"),
        ("please delete my personal data", "personal-data"),
    ],
)
def test_the_best_page_answers_the_question(query: str, best: str) -> None:
    assert _ids(query)[0] == best


def test_passages_come_best_first_and_no_more_than_asked_for() -> None:
    found = help_pages().search("refund for a returned order", 5)
    scores = [passage["score"] for passage in found if isinstance(passage, dict)]

    assert len(found) == 5
    assert scores == sorted(scores, reverse=True)


def test_a_question_about_nothing_finds_nothing() -> None:
    assert help_pages().search("xyzzy the of and", 3) == []


def test_rare_words_weigh_more_and_long_pages_less() -> None:
    base = KnowledgeBase(
        [
            Article("common", "", "order order order"),
            Article("rare", "", "order zebra"),
            Article("long", "", "zebra " + "order " * 40),
        ]
    )

    found = [passage["id"] for passage in base.search("order zebra") if isinstance(passage, dict)]

    assert found[0] == "rare"


def test_scores_follow_the_formula() -> None:
    base = KnowledgeBase([Article("one", "", "apple pear"), Article("two", "", "pear plum")])

    found = base.search("apple", 1)

    # One article of two holds the word, once, and both are of average length: ln(1 + 1.5 / 1.5) * 2.5 / 2.5.
    assert found == [{"id": "one", "title": "", "text": "apple pear", "score": 0.693}]


def test_words_are_compared_without_case_plural_and_filler() -> None:
    assert words("The Items of AN order, items!") == ["item", "order", "item"]
