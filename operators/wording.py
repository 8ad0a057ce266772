"""The same in other words: replacements by a lexicon, and clauses that change places."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from chaosagent.operators.edits import EDITS_MAX, Edit, sentences
from chaosagent.operators.lexicon import lexicon

# Not a part of an identifier, an address, a path or a quoted key.
_BEFORE, _BEHIND = r"(?<![\w@/.\-\"'])", r"(?![\w@/\-\"']|\.\w)"
_WORD = re.compile(rf"{_BEFORE}[A-Za-z]+{_BEHIND}")
_LAST_WORD = re.compile(r"(?:^|[^\w'\-])([\w'\-]{1,20}),?[ \t]+$")
_ARTICLE = re.compile(r"(?<!\w)(an?|An?)[ \t]+$")
_LOOKED_BACK = 24

_CLAUSE_FIRST = re.compile(
    r"(If|When|Before|After|Once|Unless|Until|Because|As soon as)( [^,;:.!?\n]{1,200}), ([^,;:.!?\n]{1,200})([.!]?)"
)


def synonyms_in(text: str) -> Iterator[Edit]:
    """Yield replacements of single words by others that mean the same, from left to right.

    A word that is a noun and a verb is replaced as what it must be after the word before it, or not at all.
    """
    for count, found in enumerate(_WORD.finditer(text)):
        if count == EDITS_MAX:
            return
        kinds = lexicon().synonyms.get(found[0].lower())
        if kinds is None:
            continue
        kind = _kind(text, found.start(), list(kinds))
        if kind is not None:
            yield _replacement(text, found.start(), found.end(), kinds[kind])


def phrases_in(text: str) -> Iterator[Edit]:
    """Yield replacements of phrases by others that mean the same, from left to right."""
    for count, found in enumerate(_phrases().finditer(text)):
        if count == EDITS_MAX:
            return
        phrase = _by_lower_case()[found[0].lower()]
        yield Edit(found.start(), found.end(), _in_case_of(found[0], lexicon().phrases[phrase]))


def moved_clauses(text: str) -> Iterator[Edit]:
    """Yield sentences whose first clause, such as "If it is late,", comes last instead."""
    for span in sentences(text):
        found = _CLAUSE_FIRST.fullmatch(text, span.start, span.stop)
        if found is None:
            continue
        conjunction, condition, main, end = found.groups()
        main = main.removeprefix("then ")
        turned = f"{main[:1].upper()}{main[1:]} {conjunction[:1].lower()}{conjunction[1:]}{condition}{end}"
        yield Edit(span.start, span.stop, turned)


def _kind(text: str, start: int, kinds: list[str]) -> str | None:
    """Return as what kind of word the one at `start` can be replaced; `None` if that is not clear."""
    found = _LAST_WORD.search(text[max(0, start - _LOOKED_BACK) : start])
    before = "" if found is None else found[1].lower()
    if before in lexicon().before_verbs or _begins_sentence(text, start):
        return "verb" if "verb" in kinds else None
    if before in lexicon().before_nouns:
        kinds = [kind for kind in kinds if kind != "verb"]
    return kinds[0] if len(kinds) == 1 else None


def _begins_sentence(text: str, start: int) -> bool:
    before = text[max(0, start - _LOOKED_BACK) : start].rstrip(" \t")
    return not before or before[-1] in ".!?:;\n-*"


def _replacement(text: str, start: int, stop: int, other: str) -> Edit:
    """Return the replacement of a word; where "a" would have to become "an", it is replaced, too."""
    word = _in_case_of(text[start:stop], other)
    article = _ARTICLE.search(text[max(0, start - _LOOKED_BACK) : start])
    if article is None:
        return Edit(start, stop, word)
    fitting = article[1][0] + ("n" if other[0] in "aeiou" else "")
    return Edit(start - len(article[0]), stop, f"{fitting} {word}")


def _in_case_of(old: str, new: str) -> str:
    if len(old) > 1 and old.isupper():
        return new.upper()
    return new[:1].upper() + new[1:] if old[:1].isupper() else new


@functools.cache
def _by_lower_case() -> dict[str, str]:
    return {phrase.lower(): phrase for phrase in lexicon().phrases}


@functools.cache
def _phrases() -> re.Pattern[str]:
    # Longer ones first: "must not" is not "must".
    words = sorted(lexicon().phrases, key=lambda phrase: (-len(phrase), phrase))
    return re.compile(_BEFORE + "(?:" + "|".join(map(re.escape, words)) + ")" + _BEHIND, re.IGNORECASE)
