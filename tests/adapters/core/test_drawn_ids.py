"""Ids that somebody draws have names by first appearance."""

from __future__ import annotations

from chaosagent.adapters.core.drawn_ids import CallIds, DrawnIds


def test_an_id_keeps_its_name_and_stems_are_counted_apart() -> None:
    ids = DrawnIds()

    assert [
        ids.name(drawn, stem) for drawn, stem in (("x", "call-"), ("y", "msg-"), ("x", "msg-"), ("z", "call-"))
    ] == [
        "call-1",
        "msg-1",
        "call-1",
        "call-2",
    ]
    assert (ids.id_of("call-2"), ids.id_of("call-9")) == ("z", "call-9")
    assert (ids.known("call-2"), ids.known("call-9")) == ("z", None)
    assert ids.plain() == {"call-": 2, "msg-": 1}


def test_the_name_of_a_new_call_is_no_id_that_the_conversation_has() -> None:
    ids = CallIds()
    assert ids.crossing("call-2") == "call-1"

    assert ids.answered("drawn") == "call-3"
    assert ids.id_of("call-3") == "drawn"


def test_an_id_that_the_framework_makes_up_is_replaced_by_its_name() -> None:
    ids = CallIds()

    assert ids.id_of(ids.answered("made_up_7", is_made_up=True)) == "call-1"
    assert ids.id_of(ids.answered("")) == "call-2"
