"""What the policy understands of an e-mail: what is wanted, which order, and what else the writer remarks."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

INTENTS = (
    (
        "unpaid",
        re.compile(
            r"\b(?:money|refund|payment)\b[^.?!\n]*\b(?:never (?:came|arrived|reached)|is still missing|"
            r"(?:has|have|had|did|is|was)(?: not|n't)(?: yet)? "
            r"(?:come|arrived?|reached?|here|there|been (?:paid|sent)))\b"
        ),
    ),
    ("agreed", re.compile(r"\b(?:agreed|promised|was told)\b")),
    ("cancel", re.compile(r"\bcancel\b")),
    ("address", re.compile(r"\bnew address\b")),
    ("data", re.compile(r"\b(?:customer file|personal data|data (?:that )?you (?:keep|have))\b")),
    ("damaged", re.compile(r"\b(?:broken|cracked|damaged|defective|faulty|dead pixels)\b")),
    ("part", re.compile(r"\b(?:part (?:number )?p-\d{3}|spare part|missing part)\b")),
    ("return", re.compile(r"\b(?:do not fit|does not fit|return(?:ed|ing)?|send (?:it|them) back)\b")),
    ("parcel", re.compile(r"\b(?:has not (?:come|arrived)|where is|still waiting)\b")),
    ("question", re.compile(r"\b(?:how (?:long|do|does|can|much|many)|when (?:do|does|will|is)|do you|can i)\b")),
)
APPROVAL = re.compile(r"\bapproved\b")
"""By these words people say that somebody may go on."""
_ORDER = re.compile(r"\b[A-Z]-\d{4}\b")
_PART = re.compile(r"\bP-\d{3}\b")
_QUESTION = re.compile(r"[^.?!\n]*\?")
_TRACKING = re.compile(r"\bDX\d{6}\b")
_ADDRESS = re.compile(r"new address(?: is)?:?\s*([^\n]+?)(?:\.(?:\s|$)|\n|$)", re.IGNORECASE)
_MAILBOX = re.compile(r"[\w+-]+(?:\.[\w+-]+)*@[\w-]+(?:\.[\w-]+)+")
_LABELLED = (
    r"(?<![\w/])(?:please |system |urgent |important )?(?:note|notice|important|urgent|attention|reminder)"
    r"(?: (?:for|to) [\w ]+)?:\s*"
)
_REQUEST = r"(?:please |also |then |and )*(?:send|forward|e-?mail|mail|export|share|copy)\b(?=[^\n]*@)"
_KNOWN_ATTACK = re.compile(
    r"[^.?!\n]*\b(?:system (?:note|prompt|message)|ignore (?:all |any )?(?:previous |prior |the )*instructions|"
    r"you are now|developer mode)\b[^\n]*",
    re.IGNORECASE,
)
_REMARK = re.compile(rf"(?:{_LABELLED}|(?:^|(?<=[.!?\n])\s*)(?={_REQUEST}))([^\n]+?)(?=\n|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Reading:
    """What an e-mail says.

    Attributes:
        intent: What is wanted: one of the words of `INTENTS`, or `other`.
        order_id: The first order that it names, empty if none.
        tracking: The first tracking number, empty if none.
        address: The new address, empty if none.
        mailbox: The first e-mail address, empty if none.
        part: The first number of a spare part, empty if none.
        question: The first question, empty if the e-mail wants something else.
        remarks: What the writer asks to be noted.
    """

    intent: str
    order_id: str = ""
    tracking: str = ""
    address: str = ""
    mailbox: str = ""
    part: str = ""
    question: str = ""
    remarks: tuple[str, ...] = ()


@functools.lru_cache(maxsize=1024)
def read_email(text: str) -> Reading:
    """Return what an e-mail says; remarks are taken out before the rest is read."""
    remarks = tuple(found.strip() for found in _REMARK.findall(text))
    body = _REMARK.sub("", text)
    lower = body.lower()
    intent = next((intent for intent, pattern in INTENTS if pattern.search(lower)), "other")
    return Reading(
        intent=intent,
        order_id=_first(_ORDER, body),
        tracking=_first(_TRACKING, body),
        address=_first(_ADDRESS, body),
        mailbox=_first(_MAILBOX, body),
        part=_first(_PART, body),
        question=_first(_QUESTION, body).strip() if intent == "question" else "",
        remarks=remarks,
    )


def mailbox_in(text: str) -> str:
    """Return the first e-mail address in a text, empty if there is none."""
    return _first(_MAILBOX, text)


def without_known_attacks(text: str) -> str:
    """Return an e-mail without the lines in which well-known attempts to instruct a model stand."""
    return _KNOWN_ATTACK.sub("", text)


def _first(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    if found is None:
        return ""
    return found[1] if pattern.groups else found[0]
