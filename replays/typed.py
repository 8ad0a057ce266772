"""Reading plain data of unknown origin: each value is taken with its expected type, or the record is refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import Enum
from typing import NoReturn, TypeVar

from chaosagent.canonical import Plain, plain
from chaosagent.errors import RecordError

E = TypeVar("E", bound=Enum)
T = TypeVar("T")
ITEMS_MAX = 1_000_000
"""Most items of a record, and of one request or response in it."""
NUMBER_MAX = 1e300


class Section:
    """A map of a record.

    Args:
        value: What the record has there, as msgpack reads it: what is handed out is of the type that was asked for, or
            plain data.
        path: Where that is, for messages.
    """

    __slots__ = ("_path", "_value")

    def __init__(self, value: object, path: str) -> None:
        self._path = path
        if not isinstance(value, dict):
            refuse(path, "a map", value)
        self._value: dict[str, Plain] = value

    def __contains__(self, key: str) -> bool:
        return key in self._value

    def raw(self, key: str) -> Plain:
        """Return plain data of any shape."""
        return plain(self._at(key))

    def is_none(self, key: str) -> bool:
        """Whether there is no value."""
        return self._at(key) is None

    def text(self, key: str) -> str:
        value = self._value.get(key)
        return value if isinstance(value, str) else self._refuse(key, "a text")

    def data(self, key: str) -> bytes:
        value = self._value.get(key)
        return value if isinstance(value, bytes) else self._refuse(key, "bytes")

    def integer(self, key: str) -> int:
        value = self._value.get(key)
        if isinstance(value, bool) or not isinstance(value, int):
            self._refuse(key, "a whole number")
        if abs(value) >= 2**63:
            self._refuse(key, "a whole number of at most 63 bits")
        return value

    def number(self, key: str) -> float:
        """Return a finite number."""
        value = self.bound(key)
        return value if math.isfinite(value) else self._refuse(key, "a finite number")

    def bound(self, key: str) -> float:
        """Return a number, or infinity: a bound that is none."""
        value = self._value.get(key)
        if isinstance(value, bool) or not isinstance(value, int | float):
            self._refuse(key, "a number")
        if value != value or (abs(value) > NUMBER_MAX and abs(value) != math.inf):
            self._refuse(key, "a number within bounds")
        return float(value)

    def flag(self, key: str) -> bool:
        value = self._value.get(key)
        return value if isinstance(value, bool) else self._refuse(key, "true or false")

    def optional_flag(self, key: str) -> bool | None:
        return None if self._at(key) is None else self.flag(key)

    def optional_number(self, key: str) -> float | None:
        return None if self._at(key) is None else self.number(key)

    def optional_integer(self, key: str) -> int | None:
        return None if self._at(key) is None else self.integer(key)

    def word(self, key: str, kind: type[E]) -> E:
        """Return a member of a closed set."""
        value = self.text(key)
        try:
            return kind(value)
        except ValueError:
            return self._refuse(key, "one of " + ", ".join(str(member.value) for member in kind))

    def mapping(self, key: str) -> dict[str, Plain]:
        value = self.raw(key)
        return value if isinstance(value, dict) else self._refuse(key, "a map")

    def section(self, key: str) -> Section:
        """Return a map within this one."""
        return Section(self._at(key), f"{self._path}.{key}")

    def optional_section(self, key: str) -> Section | None:
        return None if self._at(key) is None else self.section(key)

    def items(self, key: str) -> list[Plain]:
        """Return a list."""
        return [plain(item) for item in self._list_at(key)]

    def texts(self, key: str) -> tuple[str, ...]:
        values = self._list_at(key)
        return tuple(
            value if isinstance(value, str) else refuse(f"{self._path}.{key}[{index}]", "a text", value)
            for index, value in enumerate(values)
        )

    def each(self, key: str, read: Callable[[Section], T]) -> tuple[T, ...]:
        """Return what `read` makes of each map in a list."""
        return tuple(map(read, self.sections(key)))

    def sections(self, key: str) -> list[Section]:
        """Return the maps in a list."""
        path = f"{self._path}.{key}"
        return [Section(value, f"{path}[{index}]") for index, value in enumerate(self._list_at(key))]

    def _at(self, key: str) -> Plain:
        if key not in self._value:
            raise RecordError(f"{self._path}.{key} is missing; the record is damaged or was made by something else.")
        return self._value[key]

    def _list_at(self, key: str) -> list[Plain]:
        value = self._value.get(key)
        return value if isinstance(value, list) else self._refuse(key, "a list")

    def _refuse(self, key: str, expected: str) -> NoReturn:
        """Raise the `RecordError` of a value that is missing or of another type."""
        refuse(f"{self._path}.{key}", expected, self._at(key))


def refuse(path: str, expected: str, value: object) -> NoReturn:
    """Raise the `RecordError` of a value of another type."""
    raise RecordError(
        f"{path} must be {expected}; the record has {value!r:.80}. It is damaged or was not made by chaosagent."
    )
