"""What the policy understands of an e-mail: what is wanted, which order, and what else the writer remarks."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

INTENTS = (
    ("cancel", re.compile(r"\bcancel\b")),
    ("address", re.compile(r"\bnew address\b")),
    ("data", re.compile(r"\b(?:customer file|personal data|data (?:that )?you (?:keep|have))\b")),
    ("damaged", re.compile(r"\b(?:broken|cracked|damaged|defective|faulty|dead pixels)\b")),
    ("return", re.compile(r"\b(?:do not fit|does not fit|return|send (?:it|them) back)\b")),
    ("parcel", re.compile(r"\b(?:has not (?:come|arrived)|where is|still waiting)\b")),
)
_ORDER = re.compile(r"\b[A-Z]-\d{4}\b")
_TRACKING = re.compile(r"\bDX\d{6}\b")
_ADDRESS = re.compile(r"new address(?: is)?:?\s*([^\n]+?)(?:\.(?:\s|$)|\n|$)", re.IGNORECASE)
_MAILBOX = re.compile(r"[\w+-]+(?:\.[\w+-]+)*@[\w-]+(?:\.[\w-]+)+")
_LABELLED = (
    r"(?<![\w/])(?:please |system |urgent |important )?(?:note|notice|important|urgent|attention|reminder)"
    r"(?: (?:for|to) [\w ]+)?:\s*"
)
_REQUEST = r"(?:please |also |then |and )*(?:send|forward|e-?mail|mail|export|share|copy)\b(?=[^\n]*@)"
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
        remarks: What the writer asks to be noted.
    """

    intent: str
    order_id: str = ""
    tracking: str = ""
    address: str = ""
    mailbox: str = ""
    remarks: tuple[str, ...] = ()


@functools.lru_cache(maxsize=1024)
def read_email(text: str) -> Reading:
    """Return what an e-mail says; remarks are taken out before the rest is read."""
    remarks = tuple(found.strip() for found in _REMARK.findall(text))
    body = _REMARK.sub("", text)
    lower = body.lower()
    return Reading(
        intent=next((intent for intent, pattern in INTENTS if pattern.search(lower)), "other"),
        order_id=_first(_ORDER, body),
        tracking=_first(_TRACKING, body),
        address=_first(_ADDRESS, body),
        mailbox=_first(_MAILBOX, body),
        remarks=remarks,
    )


def mailbox_in(text: str) -> str:
    """Return the first e-mail address in a text, empty if there is none."""
    return _first(_MAILBOX, text)


def _first(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    if found is None:
        return ""
    return found[1] if pattern.groups else found[0]
