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
    """

    call: str
    answer: str


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
    return SuspectAnswer(call, text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}...")


def suspects_in_words(found: Iterable[SuspectAnswer], remedy: str) -> str:
    """Return one sentence for people on suspect answers, each call once; empty when there are none.

    Args:
        found: In any order; of one call the first counts.
        remedy: What to write where.
    """
    first: dict[str, str] = {}
    for one in found:
        first.setdefault(one.call, one.answer)
    if not first:
        return ""
    listed = "; ".join(f"{call} answered {answer!r}" for call, answer in sorted(first.items()))
    return f"These answers look like errors and count as commits: {listed}. {remedy}"
