"""Builds the certificate of a search, and withdraws proofs that rest on a contradicted rule R3."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.written_file import WrittenFile
from chaosagent.study.certificate import NO_COLD_REPEATS, Certificate, ColdEvidence
from chaosagent.study.chance.nominal_share import NominalShare
from chaosagent.study.loop.search import Search
from chaosagent.study.plan import Plan
from chaosagent.study.result import SearchResult
from chaosagent.study.searcher import SearchProgress
from chaosagent.vocabulary import Ending


def build_certificate(
    search: Search,
    *,
    reproduced: bool = True,
    frozen: bool = False,
    broken_anyway: NominalShare | None = None,
    reads: str = "",
    cold_repeats: ColdEvidence = NO_COLD_REPEATS,
    written: Sequence[WrittenFile] = (),
    tied: int = 0,
) -> Certificate:
    """Return what a search has proved now.

    Args:
        search: Under way, or over.
        reproduced: Whether the runs that were made again went the same way.
        frozen: Whether it was searched with frozen answers.
        broken_anyway: How often the contract breaks without injections, by chance.
        reads: What the target's code asks for that differs from run to run.
        cold_repeats: What repeats in processes of their own have shown.
        written: The files that the target writes.
        tied: How many runs of the task and seed had a time-out and an answer at the same instant.
    """
    progress = search.progress if reproduced else SearchProgress()
    plan, found, racer = search.plan, search.found, search.racer
    clean = None if racer is None or not reproduced else racer.clean_runs(found.cost_wanted)
    return Certificate(
        level="S" if clean is not None and progress.level != "C0" else progress.level,
        cost=None if found.best is None else found.best_cost,
        lower_bound=min(progress.lower_bound, found.best_cost),
        budget=plan.budget,
        executed=search.trials + search.heard,
        pruned=progress.pruned,
        audited=progress.audited,
        contradictions=progress.contradictions,
        errors=search.errors,
        unknown=search.unknown,
        unknown_reason=search.unknown_reason,
        limit_reached=search.is_cut,
        reproduced=reproduced,
        frozen=frozen,
        answers=len(found.minimal) if plan.wants_several else None,
        known_below=found.known_below(progress.lower_bound) if plan.wants_several and reproduced else 0.0,
        clean=clean,
        doubted=racer is not None and racer.is_doubted(found.cost_wanted),
        audited_of=progress.audited_of,
        unseen=() if racer is None else racer.unseen,
        worlds_searched=1 if racer is None else racer.worlds_searched,
        broken_anyway=broken_anyway,
        near_limit=progress.near_limit,
        undeclared=progress.undeclared,
        contradicted=progress.contradicted,
        contradicted_by=search.given_up.get("R3", ""),
        disproved=search.searcher.disproved if reproduced else "",  # chance has contradicted it
        by_real_time=any(one.ending is Ending.HUNG for one in (*filter(None, [found.best]), *found.minimal)),
        reads=reads,
        cold_repeats=cold_repeats.text,
        changed=cold_repeats.changed,
        written=tuple(map(str, written)),
        unrepeated=cold_repeats.missing,
        tied=tied,
    )


def is_injectable(nominal: Evaluation | None, plan: Plan) -> bool:
    """Whether a run without injections shows any place at which something affordable could be injected."""
    return nominal is not None and any(
        priced.cost <= plan.budget
        for crossing in nominal.crossings
        for priced in plan.space.at(crossing.boundary, crossing.place.interface, crossing.place.agent)[:1]
    )


RULE = "R3"


def share_contradictions(searches: Iterable[Search]) -> list[Search]:
    """Have searches of one task and seed give the rule up where one of them has seen it contradicted.

    Returns:
        Those that did, and now have to search on; not the one that has seen it, which did so at once.
    """
    searches = list(searches)
    by = next((one.contract.id for one in searches if RULE in one.progress.contradicted), None)
    return [] if by is None else [search for search in searches if search.give_up(RULE, by)]


def contradicted_tasks(results: Sequence[SearchResult]) -> Mapping[str, str]:
    """Return the tasks in which a run has contradicted the rule, each with the contract of the first such search."""
    found: dict[str, str] = {}
    for result in results:
        if RULE in result.certificate.contradicted:
            found.setdefault(result.task_id, result.contract)
    return found


def without_contradicted_proofs(result: SearchResult, contradicted: Mapping[str, str]) -> Certificate:
    """Return what a search has proved, and nothing where that rests on the rule and the rule was contradicted."""
    certificate, by = result.certificate, contradicted.get(result.task_id)
    if by is None or RULE in certificate.contradicted or not certificate.pruned.get(RULE) or certificate.level == "C0":
        return certificate
    return replace(certificate, level="C0", lower_bound=0.0, known_below=0.0, clean=None, contradicted_by=by)
