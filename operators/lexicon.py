"""What stands in `lexicon.txt`: words and phrases that mean the same."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from importlib import resources
from typing import NamedTuple


class Lexicon(NamedTuple):
    """Words that can be said in another way.

    Attributes:
        synonyms: For a word in lower case, what may stand there instead, by kind: `verb`, `noun` or `other`.
        phrases: For some words, in the case in which they stand in a sentence, others.
        verbs: The base forms of all verbs: words with which an instruction may begin.
        before_nouns: Words behind which a word is not a verb.
        before_verbs: Words behind which a word is a verb.
    """

    synonyms: Mapping[str, Mapping[str, str]]
    phrases: Mapping[str, str]
    verbs: frozenset[str]
    before_nouns: frozenset[str]
    before_verbs: frozenset[str]


@functools.cache
def lexicon() -> Lexicon:
    """Return the lexicon of the package; it is read once, and the same for everybody with this version."""
    text = resources.files("chaosagent.operators").joinpath("lexicon.txt").read_text("utf-8")
    synonyms: dict[str, dict[str, str]] = {}
    phrases: dict[str, str] = {}
    words: dict[str, set[str]] = {"imperative": set(), "before nouns": set(), "before verbs": set()}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        kind, *columns = (column.strip() for column in line.split("|"))
        forms = [[form.strip() for form in column.split(",")] for column in columns]
        if kind in words:
            words[kind].update(forms[0])
        elif kind == "phrase":
            phrases[forms[0][0]] = forms[1][0]
        else:
            for word, other in zip(forms[0], forms[1], strict=True):
                synonyms.setdefault(word, {})[kind] = other
            if kind == "verb":
                words["imperative"].add(forms[0][0])
    return Lexicon(synonyms, phrases, *(frozenset(words[kind]) for kind in words))
