"""What a study found, as plain data for machines."""

from __future__ import annotations

import math

from chaosagent.canonical import Plain
from chaosagent.report.causes.cause import cause_json
from chaosagent.report.findings import Findings, causes_of_findings, is_proved
from chaosagent.report.nominal_violations import nominal_json
from chaosagent.report.notes import FailedRuns
from chaosagent.report.proofs.chance import clean_runs_json, confirmation_json, unseen_json
from chaosagent.report.proofs.proof_limits import above_budget_json, cut_off_json, not_tried, slow_json
from chaosagent.report.proofs.proof_warnings import untold_accesses
from chaosagent.report.story import agent_of
from chaosagent.report.weaknesses import weakness_json, weaknesses_of
from chaosagent.study.counterexample import Counterexample
from chaosagent.study.result import SearchResult


def findings_json(findings: Findings) -> dict[str, Plain]:
    """Return what a study found as plain data.

    Infinite bounds are `None` and explained by `safe`. `certified` and `safe` mean proofs; what clean runs show of a
    stochastic target is in `shown`.
    """
    plan, result = findings.plan, findings.result
    return {
        "target": plan.target.name,
        "config": plan.config.name,
        "tasks": [task.id for task in plan.tasks],
        "seeds": list(plan.seeds),
        "budget": plan.budget,
        "searcher": plan.searcher,
        "all_minimal": plan.all_minimal,
        "signatures_wanted": plan.signatures,
        "study": plan.digest,
        "trials": result.trials,
        "executions": result.executions,
        "taken_over": result.taken_over,
        "unasked": result.unasked,
        "errors": findings.errors,
        "failed": [_failed_json(runs) for runs in findings.notes.failed],
        "cut_off": cut_off_json(findings.notes),
        "beyond_limit": slow_json(findings.notes),
        "outside": [
            {"kind": one.kind.name.lower(), "what": one.what, "place": one.place}
            for one in untold_accesses(plan, findings.notes)
        ],
        "retries": [dict(one._asdict()) for one in findings.notes.retries],
        "not_tried": list[Plain](not_tried(plan)),
        "seconds": round(result.seconds, 3),
        "interrupted": result.interrupted,
        "out_of_time": result.out_of_time,
        "unused_earlier": result.unused_earlier,
        "signatures": findings.signatures,
        "kinds": [weakness_json(weakness) for weakness in weaknesses_of(result.counterexamples)],
        "causes": [cause_json(cause) for cause in causes_of_findings(findings)],
        "counterexamples": [counterexample_json(found, findings) for found in findings.by_cost],
        "searches": [_search_json(search, findings) for search in result.searches],
        "unmatched": list(plan.space.unmatched),
        "idle": list(plan.space.idle),
        "removed": [str(path) for path in findings.leftovers.removed],
        "unwritten": list(findings.leftovers.unwritten),
        "kept_records": [str(path) for path in findings.leftovers.kept],
        "other_records": [str(path) for path in findings.leftovers.others],
        "stochastic": result.nature.reason if result.nature.stochastic else None,
        "unlike": list(result.unlike),
        "digest": result.digest,
        "out": str(findings.out),
    }


def counterexample_json(found: Counterexample, findings: Findings) -> dict[str, Plain]:
    """Return one counterexample as plain data."""
    violation = found.trace.verdict(found.contract).violation
    record = findings.records.get(found.id)
    return {
        "id": found.id,
        "signature": str(found.signature),
        "task": found.task_id,
        "seed": found.seed,
        "contract": found.contract,
        "schedule": found.schedule.text,
        "injections": len(found.schedule),
        "cost": found.cost,
        "certified": found.certificate.certified and found.certificate.proved,
        "shown": clean_runs_json(found.certificate),
        "level": found.certificate.level,
        "lower_bound": _finite(found.certificate.lower_bound),
        "minimal": found.minimal,
        "confirmed": found.confirmed,
        "confirmation": confirmation_json(found.confirmation),
        "step": None if violation is None else violation.step,
        "agent": None if violation is None else agent_of(found.trace, violation) or None,
        "reason": None if violation is None else violation.reason,
        "crashed_at": found.trace.crashed_at or None,
        "digest": found.trace.digest,
        "record": None if record is None else str(record),
    }


def _failed_json(runs: FailedRuns) -> Plain:
    return {
        "error": runs.error,
        "runs": runs.count,
        "task": runs.task_id,
        "seed": runs.seed,
        "schedule": runs.schedule.text,
    }


def _search_json(search: SearchResult, findings: Findings) -> Plain:
    certificate, nominal = search.certificate, findings.notes.nominal_violation(search)
    return {
        "task": search.task_id,
        "seed": search.seed,
        "contract": search.contract,
        "trials": search.trials,
        "violated_nominally": search.violated_nominally,
        "nominal_reason": None if nominal is None else nominal.reason,
        "nominal_crashed_at": None if nominal is None else nominal.crashed_at or None,
        "injectable": search.injectable,
        "counterexample": None if search.counterexample is None else search.counterexample.id,
        "counterexamples": [found.id for found in search.counterexamples],
        "complete": certificate.complete if findings.plan.wants_several else None,
        "known_below": _finite(certificate.known_below) if findings.plan.wants_several else None,
        "unreduced": search.unreduced,
        "unshown": search.unshown,
        "doubtful": [
            {"schedule": one.schedule.text, "cost": one.cost, "confirmation": confirmation_json(one.confirmation)}
            for one in search.doubtful
        ],
        "certified": certificate.certified and certificate.proved,
        "safe": is_proved(search) and certificate.proved,
        "shown": clean_runs_json(certificate, injectable=search.injectable),
        "unseen": unseen_json(certificate),
        "broken_anyway": nominal_json(certificate.broken_anyway),
        "lower_bound": _finite(certificate.lower_bound),
        "level": "C0" if search.violated_nominally else certificate.level,  # nothing was looked for
        "certificate": str(certificate),
        "disproved": certificate.disproved or None,
        "reads": certificate.reads or None,
        "undeclared": list(certificate.undeclared),
        "changed": list(certificate.changed),
        "written": list(certificate.written),
        "by_real_time": certificate.by_real_time,
        "above_budget": above_budget_json(search),
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
