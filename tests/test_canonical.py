"""Canonical bytes: equal data give equal bytes, and what is no plain data is refused."""

import dataclasses
import enum
import math
from collections import OrderedDict
from collections.abc import Mapping
from typing import NamedTuple

import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaosagent.canonical import Plain, copy_plain, digest, digest_of, pack, plain, unpack
from chaosagent.errors import UsageError

TEXTS = st.text(st.characters(exclude_categories=()), max_size=8)  # lone surrogates among them
ATOMS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS | st.binary(max_size=8)
PLAIN = st.recursive(
    ATOMS, lambda inside: st.lists(inside, max_size=3) | st.dictionaries(TEXTS, inside, max_size=3), max_leaves=8
)


class _Colour(enum.Enum):
    RED = "red"


class _Level(enum.IntEnum):
    HIGH = 3


class _Point(NamedTuple):
    x: int
    y: int


@dataclasses.dataclass
class _Order:
    name: str
    items: tuple[int, ...]


class _Model(pydantic.BaseModel):
    name: str
    colour: _Colour = _Colour.RED


class _Shouting(str):
    __slots__ = ()

    def __str__(self) -> str:
        return self.upper()


@given(PLAIN)
def test_unpack_returns_what_was_packed(value: Plain) -> None:
    assert unpack(pack(value)) == value


@given(PLAIN)
def test_packing_again_gives_the_same_bytes(value: Plain) -> None:
    assert pack(unpack(pack(value))) == pack(value)


@settings(max_examples=50)
@given(st.dictionaries(TEXTS, PLAIN, max_size=5), st.randoms(use_true_random=False))
def test_the_order_in_which_a_mapping_was_filled_does_not_matter(value: dict[str, Plain], rng: object) -> None:
    keys = list(value)
    rng.shuffle(keys)  # type: ignore[attr-defined]  # a random.Random

    assert pack({key: value[key] for key in keys}) == pack(value)
    assert list(plain({key: value[key] for key in keys})) == sorted(value)  # type: ignore[arg-type]  # a mapping


@given(PLAIN, PLAIN)
def test_different_data_give_different_bytes(one: Plain, other: Plain) -> None:
    assert (pack(one) == pack(other)) == (repr(plain(one)) == repr(plain(other)))


@pytest.mark.parametrize("value", [2**63, 2**64, -(2**63) - 1, -(10**40), 2**64 - 1, -(2**63)])
def test_integers_of_any_size_survive(value: int) -> None:
    assert unpack(pack({"amount": [value]})) == {"amount": [value]}


def test_integers_too_long_to_be_printed_survive() -> None:
    assert unpack(pack(7**9_999)) == 7**9_999


def test_data_that_look_like_a_tagged_integer_stay_what_they_are() -> None:
    value = {"\0integer": "5"}

    assert unpack(pack([value, 2**70])) == [value, 2**70]


def test_not_a_number_survives() -> None:
    value = unpack(pack([math.nan, math.inf, -math.inf]))

    assert isinstance(value, list)
    assert math.isnan(value[0])  # type: ignore[arg-type]  # a float
    assert value[1:] == [math.inf, -math.inf]
    assert pack(math.nan) == pack(float("nan"))


def test_true_one_and_one_point_nought_are_three_things() -> None:
    assert len({pack(True), pack(1), pack(1.0)}) == 3


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "\x1b[2Jcleared", "\u202e", "\0"])
def test_text_that_cannot_be_printed_survives(text: str) -> None:
    assert unpack(pack({text: text})) == {text: text}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ((1, (2,)), [1, [2]]),
        ({3, 1, 2}, [1, 2, 3]),
        (frozenset({"b", "a"}), ["a", "b"]),
        (_Colour.RED, "red"),
        (_Level.HIGH, 3),
        (_Point(1, 2), [1, 2]),
        (_Order("a", (1, 2)), {"items": [1, 2], "name": "a"}),
        (_Model(name="a"), {"colour": "red", "name": "a"}),
        (OrderedDict(b=1, a=2), {"a": 2, "b": 1}),
        (_Shouting("quiet"), "quiet"),
        (bytearray(b"ab"), b"ab"),
    ],
)
def test_common_types_become_plain_data(value: object, expected: Plain) -> None:
    found = plain({"value": value})

    assert found == {"value": expected}
    assert isinstance(found, dict)
    assert type(found["value"]) is type(expected)


def test_plain_data_are_a_fresh_copy() -> None:
    inside: list[Plain] = [1]
    value = {"a": inside}
    found = plain(value)

    inside.append(2)

    assert found == {"a": [1]}


def test_a_copy_shares_nothing_that_could_be_changed() -> None:
    inside: list[Plain] = [1]
    value: dict[str, Plain] = {"a": inside}
    found = copy_plain(value)

    inside.append(2)

    assert found == {"a": [1]}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (object(), "builtins.object crosses a boundary; only plain data can"),
        ({"a": [object()]}, "builtins.object crosses a boundary"),
        (_Order, "builtins.type crosses a boundary"),
        ({1: "a"}, "has the key 1 of type int; keys must be strings"),
        ({1: "a", "b": 2}, "has the key 1 of type int; keys must be strings"),
        ({None: 1}, "has the key None of type NoneType"),
        (1j, "builtins.complex crosses a boundary"),
        (len, "builtin_function_or_method crosses a boundary"),
    ],
)
def test_what_is_no_plain_data_is_refused_with_what_to_do(value: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        pack(value)


def test_a_refused_value_does_not_spoil_the_next_one() -> None:
    before = pack({"a": 1})
    with pytest.raises(UsageError, match="crosses a boundary"):
        pack({"a": object()})

    pack({"big": 2**80})

    assert pack({"a": 1}) == before


def test_data_that_contain_themselves_are_refused() -> None:
    value: list[object] = []
    value.append(value)

    with pytest.raises(UsageError, match=r"nests deeper than 64 levels\. Flatten it first"):
        pack(value)


def test_data_may_nest_64_levels() -> None:
    value: Plain = 1
    for _ in range(64):
        value = [value]

    assert unpack(pack(value)) == value


def test_unknown_extensions_are_refused() -> None:
    with pytest.raises(UsageError, match="extension of type 7"):
        unpack(b"\xd4\x07\x00")


def test_digests_are_the_same_in_every_process() -> None:
    value: Mapping[str, Plain] = {"b": [1, 2.5, None], "a": "text"}

    assert digest_of(value) == digest(pack(value)) == "c21445eccd01aada21e0c496907b8678"
