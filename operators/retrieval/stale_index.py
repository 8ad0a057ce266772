"""A retriever finds passages as they were before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Crossing, Exchange, Proceed, Response
from chaosagent.faults.operator import OperatorDefaults
from chaosagent.operators.passages import Passage, with_passages


@dataclass(frozen=True, slots=True)
class StaleIndex(OperatorDefaults):
    """The index has not been updated: passages come in an earlier version.

    That is the last differing answer to the same query. Without one, each passage comes as the oldest answer that had
    its `id`, to whatever query, showed it, with the score that it has now. Otherwise nothing happens.
    """

    name = "retrieval.stale_index"
    reads_history = True
    by_default = False
    magnitude = 0.5  # whole passages are replaced, by some that were true
    description = "passages come from an index that is out of date"

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        earlier = crossing.earlier()
        if earlier is not None:
            return earlier
        oldest = _oldest(crossing.history)
        return response._replace(
            value=with_passages(response.value, lambda passages: [_aged(passage, oldest) for passage in passages])
        )


def _oldest(history: Sequence[Exchange]) -> dict[str, Passage]:
    """Return the first version of every passage that has an id; without one, none has the empty id."""
    found: dict[str, Passage] = {}

    def keep(passages: Sequence[Passage]) -> Sequence[Passage]:
        for passage in passages:
            if _id(passage):
                found.setdefault(_id(passage), passage)
        return passages

    for exchange in history:
        with_passages(exchange.response.value, keep)
    return found


def _aged(passage: Passage, oldest: Mapping[str, Passage]) -> Passage:
    older = oldest.get(_id(passage), passage)
    # A score tells how well a passage answers the query of now; the older one belongs to another query.
    return {**older, "score": passage["score"]} if "score" in passage else older


def _id(passage: Passage) -> str:
    known: Plain = passage.get("id")
    return known if isinstance(known, str) else ""
