"""Answers that look like errors where a commit is declared; they are pointed out, and change no verdict."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from chaosagent.canonical import Plain
from chaosagent.effects.condition import data_of, exit_code_of, text_of

SHOWN_MAX = 60
_ERROR = re.compile(
    r"\W{0,3}(?:\w{0,40}error|exception|traceback|fail(?:ed|ure)|could not|cannot|can't|unable to|not found"
    r"|no such|invalid|denied|forbidden|unauthori[sz]ed|timed? ?out)\b",
    re.IGNORECASE,
)
_BAD_WORDS = frozenset({"error", "failed", "failure", "fail"})


class SuspectAnswer(NamedTuple):
    """An answer that looks like an error, to a call that counts as a commit.

    Attributes:
        call: Interface and operation, or the tool.
        answer: The beginning of its text.
        rule: A condition for `failed_when` that such an answer matches, as a file has it.
    """

    call: str
    answer: str
    rule: str


def looks_like_error(answer: Plain) -> bool:
    """Whether an answer looks like an error: by its first words, or by what its fields are called."""
    data = data_of(answer)
    if isinstance(data, Mapping):
        if data.get("error") or data.get("errors") or data.get("isError") is True or exit_code_of(data):
            return True
        if data.get("ok") is False or data.get("success") is False:
            return True
        status = data.get("status")
        return isinstance(status, str) and status.lower() in _BAD_WORDS
    return isinstance(data, str | list) and _ERROR.match(text_of(data)) is not None


def suspect(call: str, answer: Plain) -> SuspectAnswer | None:
    """Return an answer that looks like an error, `None` when it does not."""
    if not looks_like_error(answer):
        return None
    text = " ".join(text_of(answer)[: SHOWN_MAX * 2].split())
    shown = text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}..."
    return SuspectAnswer(call, shown, _rule(data_of(answer), text))


def _rule(data: Plain, text: str) -> str:
    """Return a condition that an answer matches; what looks like an error has one of these signs."""
    if not isinstance(data, Mapping):
        first = re.match(r"\w+", text)
        return f"'^{first[0]}'" if first is not None else "'(?i)error'"
    if exit_code_of(data):
        return "{exit_code: nonzero}"
    for name in ("error", "errors"):
        if data.get(name):
            return f"{{json: {name}}}"
    for name, value in (("isError", "true"), ("ok", "false"), ("success", "false")):
        if data.get(name) is (value == "true"):
            return f"{{json: {name}, is: {value}}}"
    return f"{{json: status, is: {data['status']!r}}}"


def suspects_in_words(found: Iterable[SuspectAnswer]) -> str:
    """Return what people are to know of suspect answers in runs, each call once; empty when there are none.

    Args:
        found: In any order; of one call the first counts.
    """
    first: dict[str, SuspectAnswer] = {}
    for one in found:
        first.setdefault(one.call, one)
    return "; ".join(
        f"{call} answered {one.answer!r} (`failed_when: {{{_declared(call)}: {one.rule}}}`)"
        for call, one in sorted(first.items())
    )


def _declared(call: str) -> str:
    """Return by which name a call is declared: an adapter's door, whose operation is `call`, by that of its tool."""
    interface, _, operation = call.partition(" ")
    return interface.partition(":")[2].rpartition(".")[2] if operation == "call" else operation


REMEDY = (
    "If a call with such an answer has failed, say so beside `effects`, as shown; if it has not, give an empty list of "
    "conditions."
)
