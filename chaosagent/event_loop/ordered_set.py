"""A set that is iterated in the order in which its elements were added."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from itertools import chain
from typing import Any, TypeVar

T = TypeVar("T")


class OrderedSet(set[T]):
    """Stands for a set wherever the order of one must not depend on addresses; see `task_order`.

    It is a `set`, so that whoever is given one may do with it what he does with sets. What is made of it and another
    set by an operator is ordered, too: its own elements come first.

    Args:
        elements: Added in this order.
    """

    __slots__ = ("_order",)

    def __init__(self, elements: Iterable[T] = ()) -> None:
        self._order: dict[T, None] = {}
        if elements:
            self._become(elements)

    def _become(self, elements: Iterable[T]) -> None:
        self._order = dict.fromkeys(elements)
        super().clear()
        super().update(self._order)

    def __iter__(self) -> Iterator[T]:
        return iter(self._order)

    def add(self, element: T, /) -> None:
        """Add an element at the end; one that is in the set keeps its place."""
        super().add(element)
        self._order[element] = None

    def discard(self, element: object, /) -> None:
        """Remove an element if it is in the set."""
        super().discard(element)
        self._order.pop(element, None)  # type: ignore[arg-type]  # whatever it is

    def remove(self, element: T, /) -> None:
        """Remove an element that is in the set."""
        super().remove(element)
        del self._order[element]

    def pop(self) -> T:
        """Remove the first element, and return it."""
        for element in self._order:
            self.remove(element)
            return element
        raise KeyError("pop from an empty set")

    def clear(self) -> None:
        """Remove all elements."""
        super().clear()
        self._order.clear()

    def copy(self) -> OrderedSet[T]:
        """Return a set with the same elements in the same order."""
        return OrderedSet(self._order)

    __copy__ = copy

    def __reduce__(self) -> tuple[type[OrderedSet[T]], tuple[list[T]]]:
        return OrderedSet, (list(self._order),)

    def union(self, *others: Iterable[Any]) -> OrderedSet[Any]:
        """Return a set with the elements of all."""
        return OrderedSet(chain(self._order, *others))

    def intersection(self, *others: Iterable[Any]) -> OrderedSet[T]:
        """Return a set with the elements that are in all."""
        kept = set(self._order).intersection(*others)
        return OrderedSet([element for element in self._order if element in kept])

    def difference(self, *others: Iterable[Any]) -> OrderedSet[T]:
        """Return a set with the elements that are in none of the others."""
        kept = set(self._order).difference(*others)
        return OrderedSet([element for element in self._order if element in kept])

    def symmetric_difference(self, other: Iterable[Any], /) -> OrderedSet[Any]:
        """Return a set with the elements that are in one of the two alone."""
        others = dict.fromkeys(other)
        own = [element for element in self._order if element not in others]
        return OrderedSet([*own, *(element for element in others if element not in self._order)])

    def update(self, *others: Iterable[T]) -> None:
        """Add the elements of others."""
        self._become(chain(self._order, *others))

    def intersection_update(self, *others: Iterable[Any]) -> None:
        """Keep the elements that are in all others."""
        self._become(self.intersection(*others))

    def difference_update(self, *others: Iterable[Any]) -> None:
        """Remove the elements of others."""
        self._become(self.difference(*others))

    def symmetric_difference_update(self, other: Iterable[Any], /) -> None:
        """Keep the elements that are in one of the two alone, and add those of the other."""
        self._become(self.symmetric_difference(other))

    def __or__(self, other: Any) -> OrderedSet[Any]:
        return self.union(other) if isinstance(other, AbstractSet) else NotImplemented

    def __and__(self, other: Any) -> OrderedSet[T]:
        return self.intersection(other) if isinstance(other, AbstractSet) else NotImplemented

    def __sub__(self, other: Any) -> OrderedSet[T]:
        return self.difference(other) if isinstance(other, AbstractSet) else NotImplemented

    def __xor__(self, other: Any) -> OrderedSet[Any]:
        return self.symmetric_difference(other) if isinstance(other, AbstractSet) else NotImplemented

    def __ror__(self, other: Any) -> OrderedSet[Any]:
        return OrderedSet(chain(other, self)) if isinstance(other, AbstractSet) else NotImplemented

    def __rand__(self, other: Any) -> OrderedSet[Any]:
        return OrderedSet(other).intersection(self) if isinstance(other, AbstractSet) else NotImplemented

    def __rsub__(self, other: Any) -> OrderedSet[Any]:
        return OrderedSet(other).difference(self) if isinstance(other, AbstractSet) else NotImplemented

    def __rxor__(self, other: Any) -> OrderedSet[Any]:
        return OrderedSet(other).symmetric_difference(self) if isinstance(other, AbstractSet) else NotImplemented

    def __ior__(self, other: Any) -> OrderedSet[Any]:
        if not isinstance(other, AbstractSet):
            return NotImplemented
        self.update(other)
        return self

    def __iand__(self, other: Any) -> OrderedSet[T]:
        if not isinstance(other, AbstractSet):
            return NotImplemented
        self.intersection_update(other)
        return self

    def __isub__(self, other: Any) -> OrderedSet[T]:
        if not isinstance(other, AbstractSet):
            return NotImplemented
        self.difference_update(other)
        return self

    def __ixor__(self, other: Any) -> OrderedSet[Any]:
        if not isinstance(other, AbstractSet):
            return NotImplemented
        self.symmetric_difference_update(other)
        return self
