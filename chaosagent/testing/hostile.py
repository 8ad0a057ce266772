"""Answers that no operator may stumble over."""

from __future__ import annotations

from collections.abc import Iterator

from chaosagent.canonical import DEPTH_MAX, Plain
from chaosagent.faults.crossing import Response
from chaosagent.vocabulary import Failure


def hostile_answers() -> Iterator[Response]:
    """Yield answers that no operator may stumble over: of any type, empty, deep, strange, and failures."""
    for value in _HOSTILE:
        yield Response(value)
    for failure in _FAILURES:
        yield Response(failure=failure)


def _nested(value: Plain, depth: int) -> Plain:
    for level in range(depth):
        value = {"text": value} if level % 2 else [value]
    return value


_HOSTILE: tuple[Plain, ...] = (
    None,
    False,
    0,
    -1.5,
    2**70,
    float("nan"),
    float("-inf"),
    "",
    " ",
    "a",
    "\ud800\udfff \x00 é \N{PILE OF POO} e\u0301",
    "9" * 40 + " is not 2026-02-30T25:61:00Z",
    b"",
    b"\xff\x00",
    [],
    {},
    [[]],
    [{}],
    ({"": {}}, None),
    [None, True, 1, 1.5, "x", b"y", [], {}],
    {"": None, " ": "", "\ud800": "\udfff", "a.b": {"*": [1]}, "[x]": 2},
    {"order_id": 1, "orderId": 2, "OrderId": 3, "_": 4, "__a": 5},
    {"id": None, "updated_at": "yesterday", "version": "", "created": "0001-01-01", "expires": "9999-12-31T23:59:59Z"},
    {"id": "000", "timestamp": 2**70, "date": float("inf"), "version": 0, "seq": True, "rev": [1, {"id": b"1"}]},
    {"text": 1, "body": None, "content": ["x"], "tool_calls": "none"},
    {"content": "", "tool_calls": [None]},
    {"content": None, "tool_calls": [{}, {"name": 1, "arguments": None}]},
    {"tool_calls": [{"name": "", "arguments": {"n": float("nan"), "b": b"\xff", "s": "\ud800", "deep": [{}]}}]},
    {"tool_calls": [{"name": "pay", "arguments": '{"amount": '}]},
    [{"id": 1, "text": None, "score": "high"}],
    [{"id": "p", "text": "", "score": float("nan")}, {"text": "is"}],
    [{"id": "p", "text": "x"}, "not a passage"],
    {"hits": [{"id": "p", "text": "5 is 5"}], "more": [{"text": "no"}]},
    list(range(100)),
    "word " * 200,
    _nested("leaf", DEPTH_MAX),
    _nested({}, DEPTH_MAX - 1),
)

_FAILURES = (
    Failure("timeout", "timed out"),
    Failure("connection", ""),
    Failure("status", "Too Many Requests", 429, 1.5),
    Failure("blocked", "not allowed"),
    Failure("KeyError", "\ud800"),
)
