"""An ordered set has the elements that a set has, in the order in which they were added."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaosagent.event_loop.ordered_set import OrderedSet

ELEMENTS = st.lists(st.integers(0, 12))

MAKING: dict[str, Callable[[Any, Any], Any]] = {
    "|": lambda one, other: one | other,
    "&": lambda one, other: one & other,
    "-": lambda one, other: one - other,
    "^": lambda one, other: one ^ other,
    "reflected |": lambda one, other: other | one,
    "reflected &": lambda one, other: other & one,
    "reflected -": lambda one, other: other - one,
    "reflected ^": lambda one, other: other ^ one,
    "union": lambda one, other: one.union(other, [3]),
    "intersection": lambda one, other: one.intersection(other),
    "difference": lambda one, other: one.difference(other, [3]),
    "symmetric_difference": lambda one, other: one.symmetric_difference(other),
    "copy": lambda one, _: one.copy(),
}


def _update(one: set[int], other: set[int]) -> None:
    one.update(other, [3])


def _or(one: set[int], other: set[int]) -> None:
    one |= other


def _and(one: set[int], other: set[int]) -> None:
    one &= other


def _subtract(one: set[int], other: set[int]) -> None:
    one -= other


def _xor(one: set[int], other: set[int]) -> None:
    one ^= other


def _pop_all(one: set[int], _: set[int]) -> None:
    while one:
        one.pop()


def _add(one: set[int], other: set[int]) -> None:
    for element in other:
        one.add(element)


def _discard(one: set[int], other: set[int]) -> None:
    for element in other:
        one.discard(element)


def _remove(one: set[int], other: set[int]) -> None:
    for element in other & one:
        one.remove(element)


CHANGING: dict[str, Callable[[set[int], set[int]], None]] = {
    "update": _update,
    "|=": _or,
    "&=": _and,
    "-=": _subtract,
    "^=": _xor,
    "pop": _pop_all,
    "add": _add,
    "discard": _discard,
    "remove": _remove,
    "clear": lambda one, _: one.clear(),
    "intersection_update": lambda one, other: one.intersection_update(other),
    "difference_update": lambda one, other: one.difference_update(other),
    "symmetric_difference_update": lambda one, other: one.symmetric_difference_update(other),
}


def same(ordered: set[int], plain: set[int]) -> None:
    assert isinstance(ordered, OrderedSet)
    assert ordered == plain
    assert len(ordered) == len(list(ordered)) == len(plain)
    assert all(element in ordered for element in plain)
    assert set(ordered) == plain  # C reads the set itself, not the order


@given(ELEMENTS, ELEMENTS)
def test_what_is_made_of_an_ordered_set_is_what_is_made_of_a_set(one: list[int], other: list[int]) -> None:
    for make in MAKING.values():
        same(make(OrderedSet(one), OrderedSet(other)), make(set(one), set(other)))
        same(make(OrderedSet(one), set(other)), make(set(one), set(other)))


@given(ELEMENTS, ELEMENTS)
def test_an_ordered_set_changes_as_a_set_does(one: list[int], other: list[int]) -> None:
    for change in CHANGING.values():
        ordered, plain = OrderedSet(one), set(one)
        change(ordered, set(other))
        change(plain, set(other))
        same(ordered, plain)


@given(ELEMENTS)
def test_elements_come_in_the_order_in_which_they_were_added(elements: list[int]) -> None:
    ordered: OrderedSet[int] = OrderedSet()
    for element in elements:
        ordered.add(element)

    assert list(ordered) == list(dict.fromkeys(elements)) == list(OrderedSet(elements))
    assert [ordered.pop() for _ in list(ordered)] == list(dict.fromkeys(elements))


def test_operators_keep_the_order_of_the_set_itself_and_put_others_behind() -> None:
    ordered = OrderedSet([9, 2, 17, 4])

    assert list(ordered | {2, 1}) == [9, 2, 17, 4, 1]
    assert list(ordered & {4, 17, 9}) == [9, 17, 4]
    assert list(ordered - {2}) == [9, 17, 4]
    assert list(ordered ^ {2, 3}) == [9, 17, 4, 3]


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_a_copy_is_ordered_as_well(again: Callable[[OrderedSet[int]], OrderedSet[int]]) -> None:
    copied = again(OrderedSet([9, 2, 17]))
    copied.add(1)

    assert list(copied) == [9, 2, 17, 1]


def test_it_is_no_operand_beside_what_is_no_set() -> None:
    for make in ("|", "&", "-", "^"):
        with pytest.raises(TypeError, match="unsupported operand"):
            MAKING[make](OrderedSet([1]), [1])
    with pytest.raises(KeyError, match="pop from an empty set"):
        OrderedSet[int]().pop()
