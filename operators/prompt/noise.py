"""A text has small mistakes."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Choice, Levels, OperatorDefaults, parameter
from chaosagent.operators.edits import EDITS_MAX, Edit, edited, tokens_levels
from chaosagent.operators.texts import with_changed_text

_WORD = re.compile(r"(?<![\w@/.\-])[A-Za-z]{4,}(?![\w@/\-]|\.\w)")
_GAP = re.compile(r"(?<=\S) (?=\S)")
_SPACES = ("  ", "\t", "\N{NO-BREAK SPACE}", " \N{ZERO WIDTH SPACE}")
_CONFUSABLES = str.maketrans(
    {
        "a": "\N{CYRILLIC SMALL LETTER A}",
        "c": "\N{CYRILLIC SMALL LETTER ES}",
        "e": "\N{CYRILLIC SMALL LETTER IE}",
        "i": "\N{CYRILLIC SMALL LETTER BYELORUSSIAN-UKRAINIAN I}",
        "o": "\N{CYRILLIC SMALL LETTER O}",
        "p": "\N{CYRILLIC SMALL LETTER ER}",
        "x": "\N{CYRILLIC SMALL LETTER HA}",
        "y": "\N{CYRILLIC SMALL LETTER U}",
    }
)


def _spaced(text: str, rng: random.Random) -> Iterator[Edit]:
    """Yield other spaces for single ones."""
    for gap in itertools.islice(_GAP.finditer(text), EDITS_MAX):
        yield Edit(gap.start(), gap.end(), rng.choice(_SPACES))


def _mistyped(text: str, rng: random.Random) -> Iterator[Edit]:
    """Yield exchanges of two letters inside a word that differ."""
    for word in itertools.islice(_WORD.finditer(text), EDITS_MAX):
        places = [place for place in range(word.start() + 1, word.end() - 2) if text[place] != text[place + 1]]
        if places:
            place = rng.choice(places)
            yield Edit(place, place + 2, text[place + 1] + text[place])


def _confused(text: str, rng: random.Random) -> Iterator[Edit]:  # noqa: ARG001  # the others draw
    """Yield words in which all letters that have a double are replaced by it."""
    for word in itertools.islice(_WORD.finditer(text), EDITS_MAX):
        other = word[0].translate(_CONFUSABLES)
        if other != word[0]:
            yield Edit(word.start(), word.end(), other)


_KINDS: Mapping[str, Callable[[str, random.Random], Iterator[Edit]]] = {
    "whitespace": _spaced,
    "typos": _mistyped,
    "confusables": _confused,
}


@dataclass(frozen=True, slots=True)
class Noise(OperatorDefaults):
    """A text has small mistakes in randomly drawn words; numbers, names with digits and addresses stay.

    Attributes:
        kind: `whitespace` (another space, or two, between words), `typos` (two neighbouring letters inside a word
            change places) or `confusables` (letters become Cyrillic ones that look the same).
        share: How many of the words that the kind can change are changed, at least one.
        tokens_max: The most tokens of the text that are changed, whatever the share.
    """

    name = "prompt.noise"
    by_default = False
    description = "{share:.0%} of the words have noise ({kind}), at most {tokens_max} tokens"

    kind: str = parameter("typos", Choice(*_KINDS))
    share: float = parameter(0.05, Levels(0.05, 0.25, limits=(0.01, 1.0)))
    tokens_max: int = parameter(32, tokens_levels(32))

    @property
    def magnitude(self) -> float:
        """The share of the words that are changed."""
        return self.share

    @property
    def tokens(self) -> int:
        """What may be changed."""
        return self.tokens_max

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        return response._replace(value=with_changed_text(response.value, lambda text: self._noisy(text, crossing.rng)))

    def _noisy(self, text: str, rng: random.Random) -> str:
        edits = list(_KINDS[self.kind](text, rng))
        drawn = rng.sample(edits, min(len(edits), max(1, round(self.share * len(edits)))))
        return edited(text, drawn, self.tokens_max)
