"""Rule R3 holds for a task or it does not: checkpoints are the target's, whatever contract is searched.

So a run that contradicts the rule in one search of a task contradicts it in all. The other searches of the same seed
search on without it; what those of other seeds have proved with it is withdrawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from chaosagent.study.certificate import Certificate
from chaosagent.study.result import SearchResult
from chaosagent.study.search import Search

RULE = "R3"


def spread(searches: Iterable[Search]) -> list[Search]:
    """Have searches of one task and seed give the rule up where one of them has seen it contradicted.

    Returns:
        Those that did, and now have to search on; not the one that has seen it, which did so at once.
    """
    searches = list(searches)
    by = next((one.contract.id for one in searches if RULE in one.standing.contradicted), None)
    return [] if by is None else [search for search in searches if search.give_up(RULE, by)]


def contradicted_in(results: Sequence[SearchResult]) -> Mapping[str, str]:
    """Return the tasks in which a run has contradicted the rule, each with the contract of the first such search."""
    found: dict[str, str] = {}
    for result in results:
        if RULE in result.certificate.contradicted:
            found.setdefault(result.task_id, result.contract)
    return found


def withdrawn_if_contradicted(result: SearchResult, contradicted: Mapping[str, str]) -> Certificate:
    """Return what a search has proved, and nothing where that rests on the rule and the rule was contradicted."""
    certificate, by = result.certificate, contradicted.get(result.task_id)
    if by is None or RULE in certificate.contradicted or not certificate.pruned.get(RULE) or certificate.level == "C0":
        return certificate
    return replace(certificate, level="C0", lower_bound=0.0, known_below=0.0, clean=None, contradicted_by=by)
