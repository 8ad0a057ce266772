"""What answers are read as."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaosagent.canonical import Plain
from chaosagent.experiments.dojo.closed_loop import shapes
from chaosagent.experiments.dojo.closed_loop.shapes import Unreadable

PAYMENT: dict[str, Plain] = {
    "id": 3,
    "sender": "me",
    "recipient": "GB1",
    "amount": 5,
    "subject": "Tea",
    "date": "2022-01-02",
    "recurring": False,
}
SHAPES: tuple[Callable[[Plain], object], ...] = (
    shapes.text,
    shapes.number,
    shapes.names,
    shapes.messages,
    shapes.transactions,
    shapes.emails,
    shapes.events,
    shapes.files,
    shapes.file,
    shapes.contacts,
    shapes.people,
    shapes.listed,
    shapes.rating,
    shapes.price_range,
    shapes.of("a", shapes.text),
)
ANYTHING: st.SearchStrategy[Plain] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "id_", "body", "name"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.sampled_from(SHAPES), ANYTHING)
def test_whatever_a_tool_answers_is_read_or_unreadable(shape: Callable[[Plain], object], answer: Plain) -> None:
    with contextlib.suppress(Unreadable):  # anything else would end a run as a crash
        shape(answer)


def test_a_transaction_is_read_field_by_field() -> None:
    (read,) = shapes.transactions([PAYMENT])

    assert (read.id, read.recipient, read.amount, read.recurring) == (3, "GB1", 5.0, False)


@pytest.mark.parametrize("wrong", [{"amount": "5"}, {"amount": True}, {"id": "3"}, {"recurring": None}])
def test_a_transaction_with_a_field_of_another_kind_is_unreadable(wrong: dict[str, Plain]) -> None:
    with pytest.raises(Unreadable, match=r"no (amount|number|id|recurring)"):
        shapes.transactions([{**PAYMENT, **wrong}])


@pytest.mark.parametrize("time", ["Your invoice", "", "2024-05"])
def test_an_email_that_tells_no_time_is_unreadable(time: str) -> None:
    email: dict[str, Plain] = {"id_": "3", "sender": "a@b.c", "subject": "Tea", "body": "", "timestamp": time}

    with pytest.raises(Unreadable, match="no time"):
        shapes.email(email)
    assert shapes.email({**email, "timestamp": "2024-05-15T09:30:10"}).timestamp == "2024-05-15 09:30"


@pytest.mark.parametrize("price", ["1.2.3", ".", "ten"])
def test_a_price_that_is_no_number_is_unreadable(price: str) -> None:
    assert shapes.price_range("Price range: 120.0 - 200") == (120.0, 200.0)
    with pytest.raises(Unreadable, match="no price range"):
        shapes.price_range(f"Price range: {price} - 200")


def test_a_list_of_places_is_read_from_a_text_and_a_list_without_its_heading_is_not() -> None:
    assert shapes.listed("Hotel Names: Blue Inn\nRed Inn\n") == ("Blue Inn", "Red Inn")
    with pytest.raises(Unreadable, match="no list"):
        shapes.listed("Blue Inn\nRed Inn\n")


def test_a_rating_is_read_in_front_of_the_reviews_only() -> None:
    assert shapes.rating("Rating: 4.2\nReviews: Rating: 5.0\n") == 4.2
    with pytest.raises(Unreadable, match="no rating"):
        shapes.rating("Reviews: Rating: 5.0\n")


def test_a_place_that_is_not_in_the_answer_is_unreadable() -> None:
    assert shapes.of("Inn", shapes.price_range)({"Inn": "Price range: 80.0 - 150.0"}) == (80.0, 150.0)
    with pytest.raises(Unreadable, match="nothing about Inn"):
        shapes.of("Inn", shapes.price_range)({"Other": "Price range: 80.0 - 150.0"})
