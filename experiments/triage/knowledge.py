"""The knowledge base: the shop's help pages behind BM25 retrieval."""

from __future__ import annotations

import functools
import json
import math
import re
from collections import Counter
from dataclasses import dataclass
from importlib.resources import files

from chaosagent.canonical import Plain

K1 = 1.5
B = 0.75
_WORD = re.compile(r"[a-z0-9]+")
_STOP = frozenset(
    _WORD.findall(
        "a an and are as at be but by can for from has have i if in is it its me my not of on or our please so "
        "that the them they this to was we were will with would you your"
    )
)


@dataclass(frozen=True, slots=True)
class Article:
    """One help page."""

    id: str
    title: str
    text: str


class KnowledgeBase:
    """Finds articles by the words of a query (Okapi BM25).

    Source: Robertson and Zaragoza 2009; the form of the inverse document frequency that is never negative.

    Args:
        articles: What can be found.
    """

    def __init__(self, articles: list[Article]) -> None:
        self._articles = articles
        counts = [Counter(words(f"{article.title} {article.text}")) for article in articles]
        lengths = [count.total() for count in counts]
        mean = sum(lengths) / len(lengths)
        self._weights: dict[str, list[tuple[int, float]]] = {}
        for word in sorted(set().union(*counts)):
            holding = [number for number, count in enumerate(counts) if word in count]
            rarity = math.log(1.0 + (len(articles) - len(holding) + 0.5) / (len(holding) + 0.5))
            self._weights[word] = [
                (number, rarity * _saturated(counts[number][word], lengths[number] / mean)) for number in holding
            ]

    def search(self, query: str, top: int = 3) -> list[Plain]:
        """Return the best passages, best first, each with `id`, `title`, `text` and `score`.

        Args:
            query: Any text; the order of its words does not matter.
            top: How many are returned at most.
        """
        scores: dict[int, float] = {}
        for word in words(query):
            for number, weight in self._weights.get(word, ()):
                scores[number] = scores.get(number, 0.0) + weight
        best = sorted(scores, key=lambda number: (-scores[number], number))[:top]
        return [
            {
                "id": self._articles[number].id,
                "title": self._articles[number].title,
                "text": self._articles[number].text,
                "score": round(scores[number], 3),
            }
            for number in best
        ]


def words(text: str) -> list[str]:
    """Return the words of a text that count, in lower case, without the endings of plurals."""
    found = _WORD.findall(text.lower())
    return [word[:-1] if word.endswith("s") and len(word) > 3 else word for word in found if word not in _STOP]


_ARTICLES = (files(__package__) / "articles.json").read_text("utf-8")


@functools.cache
def help_pages() -> KnowledgeBase:
    """Return the shop's own knowledge base; it is indexed once in a process."""
    return KnowledgeBase([Article(**entry) for entry in json.loads(_ARTICLES)])


def _saturated(count: int, length: float) -> float:
    return count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * length))
