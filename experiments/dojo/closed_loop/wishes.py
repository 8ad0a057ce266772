"""What a traveller's letter asks for: places of which kinds, where, how they must be, and what to do with them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, TypeAlias

from chaosagent.experiments.dojo.closed_loop.phrases import DAYS, MONTHS, bare, day, every, first, phrase

Kind: TypeAlias = Literal["hotel", "restaurant", "car", "flight"]
Tie: TypeAlias = Literal["", "dear", "cheap"]

# No tool of this suite tells the date; its environment is of this year.
YEAR = 2024
KEPT_MAX = 256
DAYS_OF_WEEK = 7
NUMBERS = {"two": 2, "2": 2, "three": 3, "3": 3}

_KINDS: Mapping[Kind, re.Pattern[str]] = {
    "hotel": re.compile(r"\bhotels?\b", re.IGNORECASE),
    "restaurant": re.compile(r"\brestaurants?\b|\bcuisine\b", re.IGNORECASE),
    "car": re.compile(r"\bcars?\b|\bcar rental", re.IGNORECASE),
    "flight": re.compile(r"\bflight\b", re.IGNORECASE),
}
_CITY = re.compile(r"\b(?:in|to|into|from|visit|and)\s+((?:[A-Z][a-z]+|[A-Z]{2})(?:\s[A-Z][a-z]+)?)\b")
_CUISINE = re.compile(r"\b([A-Z][a-z]+)\s+(?:cuisine|food)\b")
_DIET = phrase("(?P<diet>vegan|vegetarian|gluten-free|dairy-free) options")
_OPEN = re.compile(rf"\bon\s+({'|'.join(DAYS)})s?\b")
_PRICE = phrase(r"\b(?:under|below|budget of) <limit:number>")
_CAR = re.compile(r"\b(SUV|sedan|convertible|truck)s?\b", re.IGNORECASE)
_FUEL = re.compile(r"\b(electric)\b", re.IGNORECASE)
_SPLIT = phrase(
    r"in <one:name> for the first <least:number> or <most:number> days and in <other:name> for the last \d or \d days"
)
_FROM_TO = phrase("from <start:date> to <end:date>")
_LETTER = phrase(
    r"e?-?mail to .{0,40}?at <address:email>, use the title <subject:quoted> and the description <body:quoted>"
)


@dataclass(slots=True)
class Wish:
    """One place that is asked for.

    Attributes:
        kind: Of place.
        city: Where, or where to fly from.
        name: Of the place, if the traveller knows it.
        avoid: Words of the name of a place that is not wanted.
        needs: What it must have: `cuisine`, `diet`, `open`, `type`, `fuel`.
        price_max: What it may cost at most: a night, a meal, a day.
    """

    kind: Kind
    city: str = ""
    name: str = ""
    avoid: str = ""
    needs: dict[str, str] = field(default_factory=dict)
    price_max: float | None = None


@dataclass(frozen=True, slots=True)
class Letter:
    """An e-mail to write; its texts have gaps such as `{hotel_name}`."""

    address: str
    subject: str
    body: str


@dataclass(frozen=True, slots=True)
class Request:
    """What a traveller asks for.

    Attributes:
        wishes: Places, in the order of the text.
        tie: Which is wanted of places that are rated alike.
        days: How long the stay is, by city; under the empty name, where no city is said.
        split: Two cities, and how few and how many days are spent in the first.
        meals: A day, at the restaurants.
        dearest: Whether the costs are to be counted at the highest prices.
        total: Whether they are to be summed up.
        budget: For everything; `None` when each has its own.
        asks: Words of what is to be told: `address`, `price`, `hours`.
        people: Who fly.
        event: Day and title of a reminder, with gaps.
        letter: An e-mail to write.
        reserve: First and last day of a reservation.
    """

    wishes: tuple[Wish, ...]
    tie: Tie
    days: Mapping[str, int]
    split: tuple[str, str, int, int] | None
    meals: int
    dearest: bool
    total: bool
    budget: float | None
    asks: frozenset[str]
    people: int
    event: tuple[str, str] | None
    letter: Letter | None
    reserve: tuple[str, str] | None


@lru_cache(maxsize=KEPT_MAX)
def request(text: str) -> Request:
    """Return what a letter asks for."""
    low = " ".join(text.lower().split())
    budget = phrase("total budget of <limit:number>").search(text)
    split = _SPLIT.search(text)
    reserve = _FROM_TO.search(text) if "make a reservation" in low else None
    letter = _LETTER.search(text)
    return Request(
        wishes=tuple(_wishes(text)),
        tie="dear"
        if re.search(r"higher price|most expensive", low)
        else "cheap"
        if "cheap" in low or "budget-f" in low
        else "",
        days=_days(text),
        split=(split["one"], split["other"], int(split["least"]), int(split["most"])) if split else None,
        meals=2 if re.search(r"\b(?:two|2) meals|lunch and dinner", low) else 1,
        dearest="maximum expense" in low,
        total=re.search(r"(?:minimum|maximum|minimal) (?:cost|expense)|estimate of the", low) is not None,
        budget=float(budget["limit"]) if budget else None,
        asks=_asks(low),
        people=_people(low),
        event=_event(text),
        letter=Letter(*map(bare, (letter["address"], letter["subject"], letter["body"]))) if letter else None,
        reserve=_span(reserve["start"], reserve["end"]) if reserve else None,
    )


def cities(text: str) -> list[str]:
    """Return the cities of a text; initials of one that was named before mean that one."""
    found: list[str] = []
    for name in _CITY.findall(text):
        known = name.split()[0] in (*MONTHS, *DAYS)
        initials = [city for city in found if "".join(word[0] for word in city.split()) == name]
        if not known and not initials and name not in found and not (name.isupper() and len(name) == 2):
            found.append(name)
    return found


def _wishes(text: str) -> list[Wish]:
    wishes: list[Wish] = []
    avoid = ""
    for sentence in re.split(r"(?<=[.!?])\s+|\n", text):
        quoted = [name for name in every("quoted", sentence) if "{" not in name and "@" not in name]
        if "stayed" in sentence and quoted:
            avoid = quoted[0]
            continue
        if _mentions_no_wish(sentence):
            continue
        for kind in (kind for kind, words in _KINDS.items() if words.search(sentence)):
            wish = next((one for one in reversed(wishes) if one.kind == kind), None)
            if wish is None or (sentence.startswith("For ") and wish.needs):
                wish = Wish(kind)
                wishes.append(wish)
            _refine(wish, sentence)
            if kind == "hotel" and quoted and not wish.name:
                wish.name = quoted[0]
    named = [name for name in every("quoted", text) if "{" not in name and "@" not in name]
    if not wishes and named and re.search(r"\b(?:stay|room|hotel)\b", text):
        # A traveller who knows where he wants to stay need not say that it is a hotel.
        wishes.append(Wish("hotel", name=named[0]))
    known = cities(text)
    return [placed for wish in wishes for placed in _in_cities(wish, known, avoid)]


def _mentions_no_wish(sentence: str) -> bool:
    """Return whether a sentence speaks of what to do with a place, not of how it must be."""
    return (
        re.search(r"\bcalendar\b|\btitle\b|^\s*(?:please )?(?:tell|give|share)\b", sentence, re.IGNORECASE) is not None
    )


def _in_cities(wish: Wish, known: list[str], avoid: str) -> list[Wish]:
    """Return a wish once for each city in which it is meant."""
    places = [wish.city] if wish.city else known
    if wish.kind == "flight":
        places = known[:1]
    return [
        Wish(
            wish.kind,
            city=city,
            name=wish.name,
            avoid=avoid if wish.kind == "hotel" else "",
            needs=wish.needs,
            price_max=wish.price_max,
        )
        for city in places
    ]


def _refine(wish: Wish, sentence: str) -> None:
    """Note what a sentence says of a wish."""
    if wish.kind == "restaurant":
        _need(wish, "cuisine", _CUISINE.search(sentence))
        _need(wish, "diet", _DIET.search(sentence))
        _need(wish, "open", _OPEN.search(sentence))
    if wish.kind == "car":
        _need(wish, "type", _CAR.search(sentence))
        _need(wish, "fuel", _FUEL.search(sentence))
        place = re.search(r"\brent a car in ([A-Z][a-z]+)", sentence)
        if place is not None:
            wish.city = place[1]
    price = _PRICE.search(sentence)
    if price is not None:
        wish.price_max = float(price["limit"])


def _need(wish: Wish, name: str, found: re.Match[str] | None) -> None:
    if found is not None:
        wish.needs[name] = found[1]


def _days(text: str) -> dict[str, int]:
    low = text.lower()
    days = {city: int(count) for count, city in re.findall(r"(\d+)-day trip to ([A-Z]\w+)", text)}
    days |= {city: int(count) for count, city in re.findall(r"(\d+) days in ([A-Z]\w+)", text)}
    said = re.search(r"(\d+)[- ]days?\b", low)
    if said is not None:
        days[""] = int(said[1])
    elif "week" in low:
        days[""] = DAYS_OF_WEEK
    return days


def _asks(low: str) -> frozenset[str]:
    words = {"address": r"address", "price": r"price|cost|expens|how much", "hours": r"operating hours"}
    return frozenset(name for name, pattern in words.items() if re.search(pattern, low))


def _people(low: str) -> int:
    found = re.search(r"for (\d+) people", low)
    return int(found[1]) if found else 1


def _event(text: str) -> tuple[str, str] | None:
    behind = re.search(r"(?:event|reminder)\b.{0,60}?\bcalendar\b.*", text, re.DOTALL)
    date = first("date", behind[0]) if behind else None
    if behind is None or date is None:
        return None
    title = re.search(r"(?:titled?|title should be|called)\s+(['\"])(.+?)\1", behind[0])
    return day(date, year=YEAR), title[2] if title else "{hotel_name}"


def _span(start: str, end: str) -> tuple[str, str]:
    year = re.search(r"\d{4}", end)
    meant = int(year[0]) if year else YEAR
    return day(start, year=meant), day(end, year=meant)
