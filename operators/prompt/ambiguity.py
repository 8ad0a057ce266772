"""A text names something less exactly."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Choice, Levels, OperatorDefaults, parameter
from chaosagent.operators.edits import Edit, edited
from chaosagent.operators.texts import with_changed_text

REFERENCE_TOKENS_MAX = 16
"""The most tokens of a reference that is replaced; longer ones stay."""

_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|"
    r"Nov(?:ember)?|Dec(?:ember)?)\.?"
)
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_DATE = re.compile(
    r"(?<![\w.\-/])(?:(by|before|until|on|at|since|from|after) )?(?:"
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?)?"
    r"|\d{1,2}[./]\d{1,2}[./]\d{4}"
    rf"|{_DAY} (?:of )?{_MONTH}(?:,? \d{{4}})?|{_MONTH} {_DAY}(?:,? \d{{4}})?"
    r"|(?:(?:next|this|last) )?(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|tomorrow|today|yesterday"
    r"|within \d{1,4} (?:minute|hour|day|week|month)s?"
    r")(?![\w\-/])"
)
_NUMBER = r"\d{1,12}(?:[.,]\d{1,9}){0,4}"
_AMOUNT = re.compile(
    rf"(?<![\w.\-])(?:an? )?(?:(?:EUR|USD|GBP|[$€£]) ?{_NUMBER}"
    rf"|{_NUMBER} ?(?:EUR|USD|GBP|euros?|dollars?|pounds?|[$€£%])"
    r"|\d{1,12}\.\d\d)(?![\w\-]|[.,]\d)"
)
_NUMBERED = re.compile(
    r"\b(?:v|ver|versions?|releases?|builds?|revisions?|rev|editions?|chapters?|sections?|sec|clauses?|paragraphs?|"
    r"articles?|figures?|fig|tables?|steps?|pages?|parts?|appendix|annex|rules?|levels?|no|numbers?|python|at)"
    r"[ .:#]{1,3}(?:[\d.]{1,12}(?:, ?| and | or | to |-)){0,4}$",
    re.IGNORECASE,
)
_BARE = re.compile(r"\d{1,12}\.\d\d")
_BEFORE_MAX = 100  # characters before a number that may say what it counts
_ID = re.compile(
    r"(?<![\w.\-/])(?:((?:the|my|your|his|her|our|their|this|that) )?"
    r"(order|ticket|invoice|customer|account|case|booking|item|user|parcel|contract|employee|payment) "
    r"(?:(?:number|no\.?|id) )?)?"
    r"(?:[A-Z]{1,5}-\d{1,12}|#\d{1,12}|[A-Z]{1,3}\d{2,30}|\d{5,16})(?![\w\-/]|[.,]\d| ?(?:EUR|USD|GBP|[$€£%]))"
)
_SOON = frozenset({"by", "before", "until"})


def _vague_date(found: re.Match[str]) -> str:
    ahead = found[1] in _SOON or (found[1] is None and found[0] not in {"today", "yesterday"})
    return "soon" if ahead else "at some time"


def _vague_amount(found: re.Match[str]) -> str:  # noqa: ARG001  # the others look at it
    return "a certain amount"


def _vague_id(found: re.Match[str]) -> str:
    return "it" if found[2] is None else f"{found[1] or 'the '}{found[2]}"


_KINDS: Mapping[str, tuple[re.Pattern[str], Callable[[re.Match[str]], str]]] = {
    "date": (_DATE, _vague_date),
    "amount": (_AMOUNT, _vague_amount),
    "id": (_ID, _vague_id),
}


def _is_numbering(found: re.Match[str]) -> bool:
    """Whether a number that looks like an amount numbers a version, a section or the like."""
    if not _BARE.fullmatch(found[0]):
        return False
    return _NUMBERED.search(found.string[max(0, found.start() - _BEFORE_MAX) : found.start()]) is not None


@dataclass(frozen=True, slots=True)
class Ambiguity(OperatorDefaults):
    """A reference in a text is vague: "order A-1006" becomes "the order", "by 2026-03-05" becomes "soon".

    A number with two decimals is an amount without a currency, too, unless the word before it says that it numbers
    something, as in "version 2.10" or "section 4.10", or tells the time, as in "at 14.30".

    Attributes:
        kind: Which references: of a `date`, an `amount` or an `id`.
        index: Which one of them, counted from 1; where there are fewer, nothing happens.
    """

    name = "prompt.ambiguity"
    by_default = False
    magnitude = 0.5  # which reference it is says nothing of the strength
    tokens = REFERENCE_TOKENS_MAX
    description = "{kind} number {index} of the text is only hinted at"

    kind: str = parameter("id", Choice(*_KINDS))
    index: int = parameter(1, Levels(1, 2, limits=(1, 1_000)))

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        return response._replace(value=with_changed_text(response.value, self._vague))

    def _vague(self, text: str) -> str:
        pattern, vague = _KINDS[self.kind]
        references = (found for found in pattern.finditer(text) if not _is_numbering(found))
        for found in itertools.islice(references, self.index - 1, self.index):
            return edited(text, [Edit(found.start(), found.end(), vague(found))], REFERENCE_TOKENS_MAX)
        return text
