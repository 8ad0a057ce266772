"""What chance has to do with what a study found: a stochastic target, and runs that did not repeat."""

from __future__ import annotations

from collections.abc import Sequence

from chaosagent.canonical import Plain
from chaosagent.report.page import Cell, Page, bad, faint, notice, strong
from chaosagent.report.printable import printable
from chaosagent.report.story import quantity
from chaosagent.statistics.intervals import Interval
from chaosagent.study.certificate import Certificate
from chaosagent.study.chance.confirmation import Confirmation
from chaosagent.study.chance.racing import UnconfirmedViolation
from chaosagent.study.chance.worlds import describe_unseen
from chaosagent.study.counterexample import Counterexample
from chaosagent.study.determinism.determinism import DECLARED, SAY_STOCHASTIC
from chaosagent.study.divergence import OF_A_COMMAND
from chaosagent.study.result import SearchResult, StudyResult

ROWS_MAX = 50
CHARACTERS_MAX = 300
DIFFERENCE_CHARACTERS_MAX = 600
MAY_BE_CHANCE = "may be chance"
"""What is said of a counterexample whose schedule may have no part in the violation."""


def report_chance(page: Page, result: StudyResult, *, declared: bool) -> None:
    """Say where a target answers by chance, how likely each counterexample is, and what did not repeat.

    Args:
        page: Where to say it.
        result: Of the study.
        declared: The study file says that the target is stochastic.
    """
    if result.nature.stochastic:
        page.gap().line(
            notice("The target is stochastic"),
            ": its answers were frozen for this study, and what is said of cheaper schedules holds for these answers. "
            + _why_stochastic(result.nature.reason, declared=declared),
        )
        _tell_confirmations(page, result)
        _tell_doubtful(page, result)
        _tell_unseen(page, result)
    _tell_reads(page, result)
    if result.unlike:
        page.gap().line(
            bad(f"{quantity(len(result.unlike), 'task').capitalize()} did not repeat: "),
            "a repeated run differed, so nothing is proved there. Find what the target keeps "
            f"between runs, or draws outside run.rng and run.clock; {OF_A_COMMAND}."
            + ("" if result.nature.stochastic else f" {SAY_STOCHASTIC}"),
        )
        for where in result.unlike[:ROWS_MAX]:  # the likely cause stands at the end
            page.line(printable(where, characters_max=DIFFERENCE_CHARACTERS_MAX, in_the_middle=True), indent=2)
        if not result.nature.stochastic:
            _tell_confirmations(page, result)
            _tell_doubtful(page, result)


def _tell_reads(page: Page, result: StudyResult) -> None:
    """Say what is proved although the target reads the clock or draws by itself, for each task with such code."""
    told = {
        search.task_id: search.certificate.reads
        for search in result.searches
        if search.certificate.reads and search.certificate.reproduced
    }
    if told:
        page.gap().line(
            notice(f"{quantity(len(told), 'task').capitalize()} may depend on chance: "),
            "no repeated run diverged, but a run at another time may. Ask run.clock.now() and run.rng(label), or pin "
            "both: `with chaosagent.deterministic(run):`.",
        )
        for task, reads in list(told.items())[:ROWS_MAX]:
            page.line(printable(f"task {task!r}: {reads}", characters_max=DIFFERENCE_CHARACTERS_MAX), indent=2)


def proof_by_chance(searches: Sequence[SearchResult]) -> str:
    """Say what is known where nothing was confirmed: how many clean runs, and how seldom each class violates at most.

    Args:
        searches: Of a stochastic target, at least one, each without an open end.
    """
    clean = [search.certificate.clean for search in searches if search.certificate.clean is not None]
    if not clean:
        return "with the frozen answers of this study only"
    least = min(clean, key=lambda one: one.runs)
    told = (
        f"at least {quantity(least.runs, 'clean run')} with other answers of each class of schedules run here that "
        f"was not seen violating, so each violates in less than {least.share_max:.2f} of runs "
        f"(error {least.error:g} each)"
    )
    dropped, others = sum(one.dropped for one in clean), len(searches) - len(clean)
    told += f"; {quantity(dropped, 'class', 'classes')} dropped as chance" if dropped else ""
    return f"{told}; {others} with the frozen answers of this study only" if others else told


def bound_below(certificate: Certificate) -> str:
    """Say in a few words what is shown of schedules that are cheaper than a confirmed one."""
    if certificate.clean is None:
        return "cheapest with these answers"
    return f"cheapest in {quantity(certificate.clean.runs, 'clean run')}"


def clean_runs_json(certificate: Certificate, *, injectable: bool = True) -> Plain:
    """Return what clean runs show of a stochastic target as plain data; `None` where proofs are what counts.

    Args:
        certificate: Of the search.
        injectable: Whether anything could be injected at all.
    """
    if not certificate.frozen:
        return None
    clean = certificate.clean
    told: dict[str, Plain] = {
        "none_cheaper_confirmed": certificate.certified,
        "none_within_budget_confirmed": certificate.safe and injectable,
        "clean": None,
    }
    if clean is not None:
        told["clean"] = {
            "classes": clean.classes,
            "runs": clean.runs,
            "share_max": clean.share_max,
            "error": clean.error,
            "dropped": clean.dropped,
            "undecided": clean.undecided,
        }
    return told


def unseen_json(certificate: Certificate) -> Plain:
    """Return as plain data where other draws of the answers went, and what was searched never did."""
    return [{"hook": one.hook, "operation": one.operation, "cost": one.cost} for one in certificate.unseen]


def _tell_unseen(page: Page, result: StudyResult) -> None:
    """Say what keeps searches open that have seen less than other draws of the answers have."""
    left = [search for search in result.searches if search.certificate.unseen]
    if not left:
        return
    page.line(notice("Not everything was seen, so nothing is said of schedules that reach there:"), indent=2)
    page.table(
        ("contract", "task", "", "cheapest fault there"),
        [
            (
                search.contract,
                search.task_id,
                printable(describe_unseen(search.certificate.unseen), characters_max=CHARACTERS_MAX),
                f"{search.certificate.unseen[0].cost:g}",
            )
            for search in left[:ROWS_MAX]
        ],
    )
    if len(left) > ROWS_MAX:
        page.line(faint(f"... {len(left) - ROWS_MAX} more (--json lists them)"), indent=2)


def _why_stochastic(reason: str, *, declared: bool) -> str:
    if declared:
        return "The study file says so (`stochastic: true`)."
    if reason == DECLARED:
        return "The session of the study that began it has found that."
    return f"Two runs without injections differ: {printable(reason, characters_max=CHARACTERS_MAX)}"


def _tell_confirmations(page: Page, result: StudyResult) -> None:
    known = [(found, found.confirmation) for found in result.counterexamples if found.confirmation is not None]
    if not known:
        return
    page.line("How often each happens with fresh answers, with 95 % intervals (valid at any number of runs):", indent=2)
    several = any(len(search.counterexamples) > 1 for search in result.searches)  # then the task does not tell which
    page.table(
        ("contract", "task", "with the schedule", "without injections", "instability", "", *["schedule"] * several),
        [(*_row(found, told), *[found.schedule.text] * several) for found, told in known[:ROWS_MAX]],
    )
    if any(not confirmation.confirmed for _, confirmation in known):
        page.line(
            faint(
                f"{MAY_BE_CHANCE}: violations are not significantly more frequent with the schedule than without "
                "injections (search.alpha)"
            ),
            indent=2,
        )
    if len(known) > ROWS_MAX:
        page.line(faint(f"... {len(known) - ROWS_MAX} more (--json lists them)"), indent=2)


def _tell_doubtful(page: Page, result: StudyResult) -> None:
    """List apart what was seen violating once, and was not confirmed."""
    doubtful = [(search, one) for search in result.searches for one in search.doubtful]
    if not doubtful:
        return
    settings = " (search.confirmations, search.difference)" if result.nature.stochastic else ""
    page.line(f"Seen violating, but not confirmed by fresh runs, so not among the counterexamples{settings}:", indent=2)
    page.table(
        ("contract", "task", "cost", "with the schedule", "without injections", "", "schedule"),
        [_doubtful_row(search, one) for search, one in doubtful[:ROWS_MAX]],
    )
    if len(doubtful) > ROWS_MAX:
        page.line(faint(f"... {len(doubtful) - ROWS_MAX} more (--json lists them)"), indent=2)


def _doubtful_row(search: SearchResult, one: UnconfirmedViolation) -> tuple[Cell, ...]:
    told = one.confirmation
    under = _share(told.violations, told.runs, told.interval)
    nominal = _share(told.nominal_violations, told.nominal_runs, told.nominal_interval) if told.nominal_runs else "–"
    schedule = printable(one.schedule.text, characters_max=CHARACTERS_MAX)
    found = "undecided" if told.undecided else "dropped as chance"
    return (strong(search.contract), search.task_id, f"{one.cost:g}", under, nominal, found, schedule)


def _row(found: Counterexample, confirmation: Confirmation) -> tuple[Cell, ...]:
    under = _share(confirmation.violations, confirmation.runs, confirmation.interval)
    nominal = _share(confirmation.nominal_violations, confirmation.nominal_runs, confirmation.nominal_interval)
    return (
        strong(found.contract),
        found.task_id,
        under,
        nominal,
        f"{confirmation.instability:.2f}",
        "" if confirmation.confirmed else notice(MAY_BE_CHANCE),
    )


def _share(violations: int, runs: int, interval: Interval) -> str:
    return f"{violations} of {runs} ({interval.low:.2f} to {interval.high:.2f})"


def confirmation_json(confirmation: Confirmation | None) -> Plain:
    """Return how likely a counterexample is as plain data."""
    if confirmation is None:
        return None
    return {
        "violations": confirmation.violations,
        "runs": confirmation.runs,
        "interval": list(confirmation.interval),
        "nominal_violations": confirmation.nominal_violations,
        "nominal_runs": confirmation.nominal_runs,
        "nominal_interval": list(confirmation.nominal_interval),
        "errors": confirmation.errors,
        "confirmed": confirmation.confirmed,
        "instability": confirmation.instability,
        "evidence": confirmation.evidence,
        "alpha": confirmation.alpha,
        "undecided": confirmation.undecided,
    }
