"""Patterns of sentences with named gaps: `add <user:name> to the channel starting with <start:word>`.

What an agent understands is declared in these, by suite. A gap has a kind, which says what fits in it; the rest is a
regular expression in which a blank stands for any white space, and letters may be large or small.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
DIGITS_OF_YEAR = 4

_MONTH = "|".join(MONTHS)
_DATE = (
    r"\d{4}-\d\d-\d\d"
    rf"|(?:{_MONTH})\s+\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s+\d{{4}})?"
    rf"|\d{{1,2}}(?:st|nd|rd|th)?\s+of\s+(?:{_MONTH})(?:,?\s+\d{{4}})?"
)
KINDS: Mapping[str, str] = {
    "amount": r"\d+(?:,\d{3})*(?:\.\d+)?",
    "date": _DATE,
    "email": r"'?[\w.+-]+@[\w-]+(?:\.[\w-]+)+'?",
    "file": r"['\"]?[\w-]+\.(?:txt|docx|xlsx)['\"]?",
    "iban": r"(?-i:[A-Z]{2}\d{2}[A-Z0-9]{8,30})",
    "line": r"['\"]?[^'\"\n]+['\"]?",
    "month": _MONTH,
    "name": r"(?-i:[A-Z][\w-]*)",
    "names": r"(?-i:[A-Z][\w-]*(?:\s[A-Z][\w-]*)*)",
    "number": r"\d+",
    "quoted": r"(?<!\w)(?:'[^'\n]+'|\"[^\"\n]+\")(?!\w)",
    "text": r".+?",
    "time": r"\d{1,2}:\d\d",
    "url": r"(?-i:(?:https?://)?www(?:\.[a-z0-9-]+)+(?:/[\w-]+)*)",
    "word": r"[\w-]+",
}
_GAP = re.compile(r"<(\w+):(\w+)>")


def phrase(template: str) -> re.Pattern[str]:
    """Return the pattern of a template.

    Args:
        template: A regular expression with gaps, `<user:name>`; the name after the colon is one of `KINDS`.
    """
    spaced = re.sub(r" (?![*+?{])", r"\\s+", template)
    return re.compile(_GAP.sub(lambda gap: rf"(?P<{gap[1]}>{KINDS[gap[2]]})", spaced), re.IGNORECASE | re.DOTALL)


def first(kind: str, text: str) -> str | None:
    """Return the first thing of a kind in a text, without the quotation marks around it."""
    found = re.search(KINDS[kind], text, re.IGNORECASE)
    return bare(found[0]) if found else None


def every(kind: str, text: str) -> list[str]:
    """Return the different things of a kind in a text, in the order of their places."""
    return list(dict.fromkeys(bare(found[0]) for found in re.finditer(KINDS[kind], text, re.IGNORECASE)))


def bare(text: str) -> str:
    """Return what fits in a gap without blanks and quotation marks around it."""
    stripped = text.strip()
    if len(stripped) > 1 and stripped[0] in "'\"":
        stripped = stripped[1:]
        stripped = stripped.removesuffix("'").removesuffix('"')
    elif stripped.endswith(("'", '"')) and stripped.count(stripped[-1]) == 1:
        stripped = stripped[:-1]
    return stripped.strip()


def amount(text: str) -> float:
    """Return the number that an amount is: `1,050.00` is 1050.0."""
    return float(text.replace(",", ""))


def day(text: str, *, year: int) -> str:
    """Return a date as YYYY-MM-DD.

    Args:
        text: Something of the kind `date`.
        year: Which is meant when the text names none.

    Raises:
        ValueError: The text is no date.
    """
    if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        return text
    if not re.fullmatch(_DATE, text, re.IGNORECASE):
        raise ValueError(f"{text!r:.80} is no date. Say it as March 5th, 5th of March or 2024-03-05.")
    month = next(number for number, name in enumerate(MONTHS, 1) if name.lower() in text.lower())
    numbers = re.findall(r"\d+", text)
    named = next((int(number) for number in numbers if len(number) == DIGITS_OF_YEAR), year)
    return f"{named}-{month:02}-{int(numbers[0]):02}"


def sentences(text: str) -> list[str]:
    """Return the sentences of a text."""
    return [part.strip() for part in re.split(r"(?<=[.!?])\s+", text) if part.strip()]


def keywords(text: str) -> frozenset[str]:
    """Return the words of a text that tell what it is about: in small letters, of four letters or more."""
    words = re.findall(r"[a-z0-9]{4,}", text.lower().replace("'s", ""))
    return frozenset(word.removesuffix("s") for word in words)


def likeness(text: str, topic: str) -> int:
    """Return how many of the words of a topic a text has."""
    return len(keywords(text) & keywords(topic))
