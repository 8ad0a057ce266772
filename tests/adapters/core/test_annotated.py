"""Results of functions as plain data and back."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any

import pytest
from pydantic import BaseModel

from chaosagent.adapters.core.annotated import is_plain, plain_result, rebuilt, returned_by


@dataclasses.dataclass
class Receipt:
    """What a till gives."""

    order: str
    amount: int


class Order(BaseModel):
    """What was ordered."""

    id: int
    receipts: list[Receipt] = []


class Colour(enum.Enum):
    """Of a parcel."""

    RED = "red"


@pytest.mark.parametrize(
    ("result", "annotation"),
    [
        (Receipt("7", 40), Receipt),
        ([Receipt("7", 40)], list[Receipt]),
        (Order(id=7, receipts=[Receipt("7", 40)]), Order),
        ((1, "a"), tuple[int, str]),
        ({"a": Receipt("7", 40)}, dict[str, Receipt]),
        (None, Receipt | None),
    ],
)
def test_objects_come_back_as_the_annotation_has_them(result: Any, annotation: Any) -> None:
    crossing = plain_result(result, annotation, "shown")

    assert is_plain(crossing)
    assert rebuilt(crossing, annotation) == result


@pytest.mark.parametrize("result", ["text", 7, None, {"a": [1, None]}, b"bytes"])
def test_plain_data_stay_as_they_are(result: Any) -> None:
    assert plain_result(result, Any, "shown") == result
    assert rebuilt(result, Any) == result


def test_what_no_annotation_explains_crosses_as_it_is_shown() -> None:
    assert plain_result(object(), Any, "shown") == "shown"
    assert plain_result(Receipt("7", 40), int, "shown") == "shown"
    assert plain_result(object(), Receipt, "shown") == "shown"
    assert plain_result(Colour.RED, Colour, "Colour.RED") == rebuilt("Colour.RED", Colour) == "Colour.RED"


def test_what_a_function_returns_is_known_where_it_says_so_in_names_that_are_there() -> None:
    def told() -> Receipt:
        raise AssertionError

    def untold():  # type: ignore[no-untyped-def]  # what is tested
        raise AssertionError

    def unknown() -> Nowhere:  # type: ignore[name-defined]  # noqa: F821  # what is tested
        raise AssertionError

    assert returned_by(told) is Receipt
    assert [returned_by(untold), returned_by(unknown), returned_by(None)] == [None, None, None]


def test_an_altered_result_that_is_none_any_more_stays_plain() -> None:
    assert rebuilt({"order": 1}, Receipt) == {"order": 1}
