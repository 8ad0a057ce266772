"""What a search has proved, as a certificate."""

from __future__ import annotations

from collections.abc import Sequence

from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.written_file import WrittenFile
from chaosagent.study.certificate import NO_COLD_REPEATS, Certificate, ColdEvidence
from chaosagent.study.nominal_share import NominalShare
from chaosagent.study.plan import Plan
from chaosagent.study.search import Search
from chaosagent.study.searcher import Standing
from chaosagent.vocabulary import Ending


def certificate_of(
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
    standing = search.standing if reproduced else Standing()
    plan, found, racer = search.plan, search.found, search.racer
    clean = None if racer is None or not reproduced else racer.clean_runs(found.cost_wanted)
    return Certificate(
        level="S" if clean is not None and standing.level != "C0" else standing.level,
        cost=None if found.best is None else found.best_cost,
        lower_bound=min(standing.lower_bound, found.best_cost),
        budget=plan.budget,
        executed=search.trials + search.heard,
        pruned=standing.pruned,
        audited=standing.audited,
        contradictions=standing.contradictions,
        errors=search.errors,
        unknown=search.unknown,
        unknown_under=search.unknown_under,
        limit_reached=search.is_cut,
        reproduced=reproduced,
        frozen=frozen,
        answers=len(found.minimal) if plan.wants_several else None,
        known_below=found.known_below(standing.lower_bound) if plan.wants_several and reproduced else 0.0,
        clean=clean,
        doubted=racer is not None and racer.is_doubted(found.cost_wanted),
        audited_of=standing.audited_of,
        unseen=() if racer is None else racer.unseen,
        worlds_searched=1 if racer is None else racer.worlds_searched,
        broken_anyway=broken_anyway,
        near_limit=standing.near_limit,
        undeclared=standing.undeclared,
        contradicted=standing.contradicted,
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
