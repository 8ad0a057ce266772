"""What changed since an earlier study, as the page tells it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from chaosagent.report.html.study_facts import StudyFacts


class ChangedCause(NamedTuple):
    """A cause of what changed: in which way, what its cheapest schedule costs, in how many searches, what it does."""

    way: str
    cost: str
    searches: int
    headline: str


class ChangedSearches(NamedTuple):
    """Searches that changed in one way.

    Attributes:
        way: Such as `"new"`.
        meaning: Of the word.
        rows: Contract, task, seed, outcome before and after, and the schedule or why it cannot be compared.
        left: How many more there are.
    """

    way: str
    meaning: str
    rows: Sequence[tuple[str, str, int, str, str, str]]
    left: int


class Changes(NamedTuple):
    """Two studies compared.

    Attributes:
        since: The earlier study.
        verdict: In a sentence.
        tone: Worse, not worse, or undecided.
        causes: Of what is new, cheaper or gone.
        searches: By way, the worst first.
        unshared: What only one of them has, in sentences.
    """

    since: StudyFacts
    verdict: str
    tone: Literal["bad", "good", "unclear"]
    causes: Sequence[ChangedCause]
    searches: Sequence[ChangedSearches]
    unshared: Sequence[str]
