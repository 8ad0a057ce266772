"""What `service.partial_page` does to a crossing."""

from __future__ import annotations

import pytest

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Request, Response
from chaosagent.operators.service.partial_page import PartialPage
from chaosagent.testing.crossings import FakeCrossing, Sample, play
from chaosagent.vocabulary import Boundary

ITEMS: Plain = [{"id": "R-1"}, {"id": "R-2"}]


def _answered(answer: Plain, **arguments: Plain) -> FakeCrossing:
    return FakeCrossing(Sample(Boundary.SERVICE, Request("list_refunds", arguments), Response(answer)))


@pytest.mark.parametrize(
    ("following", "last"),
    [
        ({"next_cursor": "p-3"}, {"next_cursor": None}),
        ({"nextPageToken": "p-3"}, {"nextPageToken": None}),
        ({"hasNextPage": True, "endCursor": "p-3"}, {"hasNextPage": False, "endCursor": None}),
        ({"page": 2, "next_page": 3, "has_more": True}, {"page": 2, "next_page": None, "has_more": False}),
        ({"links": {"next": "/refunds?after=2"}}, {"links": {"next": None}}),
    ],
)
def test_an_ended_page_keeps_its_items_and_says_that_it_is_the_last(
    following: dict[str, Plain], last: dict[str, Plain]
) -> None:
    response = play(PartialPage("ended"), _answered({"items": ITEMS, **following}, cursor="p-2"))

    assert response.value == {"items": ITEMS, **last}


def test_a_looped_page_names_itself_as_the_next() -> None:
    page: Plain = {"items": ITEMS, "next_cursor": "p-3", "has_more": True}

    response = play(PartialPage("looped"), _answered(page, cursor="p-2", status="open"))

    assert response.value == {"items": ITEMS, "next_cursor": "p-2", "has_more": True}


def test_a_first_page_cannot_loop() -> None:
    page: Plain = {"items": ITEMS, "next_cursor": "p-3"}

    assert play(PartialPage("looped"), _answered(page, cursor=None)).value == page


@pytest.mark.parametrize("kind", ["ended", "looped"])
@pytest.mark.parametrize(
    "answer",
    [
        None,
        ITEMS,
        {"items": ITEMS, "next_cursor": None, "has_more": False},
        {"items": ITEMS, "next_cursor": ""},
        {"items": [{"link": "/refunds/1", "before": 5, "after": 6, "next": "R-2"}]},
        {"token": "of a session", "link": "/me"},
    ],
)
def test_the_last_page_and_what_is_no_page_stay(kind: str, answer: Plain) -> None:
    assert play(PartialPage(kind), _answered(answer, cursor="p-2")) == Response(answer)
