"""What the proofs of a study do not cover: runs cut off, violations above the budget, operators not tried."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from chaosagent.canonical import Plain
from chaosagent.faults.operator import OPERATORS, searched_by_default
from chaosagent.faults.presets import operators_of, presets_that_try
from chaosagent.faults.space import left_out
from chaosagent.limits import EXTENSION, RunLimits
from chaosagent.report.notes import CutOffRuns, Notes
from chaosagent.report.page import Cell, Page, faint, notice
from chaosagent.report.printable import printable
from chaosagent.report.proofs.proof_warnings import is_unrepeated, limit_value, more_time, report_near_limits
from chaosagent.report.story import quantity
from chaosagent.study.plan import Plan
from chaosagent.study.result import SearchResult, StudyResult
from chaosagent.vocabulary import Ending

ROWS_MAX = 10
NAMES_MAX = 6
REASONS_MAX = 3
REASON_CHARACTERS_MAX = 200


def report_proof_limits(page: Page, plan: Plan, result: StudyResult, notes: Notes) -> None:
    """Say what no certificate of the study reaches, and what to do about it.

    Args:
        page: Where to say it.
        plan: What was to be done.
        result: What came of it.
        notes: What single runs told.
    """
    _tell_above_budget(page, plan, result)
    _tell_limits(page, plan, notes)
    _tell_slow(page, notes)
    report_near_limits(page, plan, result, notes)
    _tell_inconclusive(page, result, notes)
    _tell_unjudged(page, result, notes)
    _tell_not_tried(page, plan)


def report_unfinished(page: Page, plan: Plan, result: StudyResult, unfinished: Sequence[SearchResult]) -> None:
    """Say which searches have ended early, at a limit or as the study was interrupted, and what to do about it.

    Args:
        page: Where to say it.
        plan: What was to be done.
        result: What came of it.
        unfinished: The searches that have not found or proved what was wanted of them.
    """
    limited = [search for search in unfinished if search.certificate.limit_reached]
    unreduced = sum(search.unreduced for search in limited)
    if unreduced:
        page.gap().line(
            notice(f"{quantity(unreduced, 'violation').capitalize()} not reduced yet: "),
            "met before a search ended, and none of those listed is part of it; there may be more to find.",
        )
    unshown = sum(search.unshown for search in result.searches)
    if unshown:
        page.gap().line(
            notice(f"{quantity(unshown, 'violation').capitalize()} not listed: "),
            "there was no time for a second run, which would show what happened. Give the same command with "
            f"--resume{more_time(plan, result)}.",
        )
    # An interrupt may have come after the searches, while their runs were repeated.
    cut = [search for search in limited if result.interrupted and not _is_at_limit(search, plan, result)]
    if cut:
        is_apart = any(map(is_unrepeated, result.searches)) and not any(map(is_unrepeated, cut))
        other = "other " if is_apart else ""
        page.gap().line(
            notice(f"{quantity(len(cut), f'{other}search', f'{other}searches').capitalize()} had not finished. "),
            f"Give the same command with --resume to go on; nothing is run again.{_of_earlier(result)}",
        )
    ended = [search for search in limited if not any(search is other for other in cut)]
    late = [search for search in ended if search.trials < plan.limits.trials_max]
    if len(ended) > len(late):
        page.gap().line(
            notice(f"{quantity(len(ended) - len(late), 'search', 'searches').capitalize()} ended at a limit. "),
            "Give more with --trials and --resume, which runs nothing again, or ask for less with --budget.",
        )
    if late:
        page.gap().line(
            notice(f"{quantity(len(late), 'search', 'searches').capitalize()} ended as the time was over. "),
            f"Give the same command with --resume{more_time(plan, result)} to go on; nothing is run again.",
        )


def _is_at_limit(search: SearchResult, plan: Plan, result: StudyResult) -> bool:
    seconds_max = plan.limits.seconds_max
    return search.trials >= plan.limits.trials_max or (seconds_max is not None and result.seconds > seconds_max)


def _of_earlier(result: StudyResult) -> str:
    """Say how many runs of an earlier session an interrupted one has not used, so that nobody thinks them lost."""
    if not result.unused_earlier:
        return ""
    number = f"{result.unused_earlier:,} {'run' if result.unused_earlier == 1 else 'runs'}"
    what = "is stored, but has" if result.unused_earlier == 1 else "are stored, but have"
    return f" {number} of earlier sessions {what} not been asked for again, and no figure here counts them."


def _tell_above_budget(page: Page, plan: Plan, result: StudyResult) -> None:
    broken = [search for search in result.searches if search.above_budget is not None]
    if not broken:
        return
    number = len({search.contract for search in broken})
    page.gap().line(
        notice(f"{quantity(number, 'contract is', 'contracts are').capitalize()} broken above your budget of "),
        f"{plan.budget:g}. The search came across these schedules and did not reduce them; to search there, raise "
        f"--budget to {_rounded_up(min(map(_cost, broken)))}{' or more' if len(broken) > 1 else ''}.",
    )
    rows = [_row(search) for search in sorted(broken, key=_cost)[:ROWS_MAX]]
    page.table(("contract", "task", "cost", "schedule"), rows)
    if len(broken) > ROWS_MAX:
        page.line(faint(f"... {len(broken) - ROWS_MAX} more (--json lists them)"), indent=2)


def _rounded_up(cost: float) -> str:
    """Return a cost with at most two decimals that is not below it."""
    return f"{math.ceil(round(100 * cost, 6)) / 100:g}"


def _row(search: SearchResult) -> Sequence[Cell]:
    above = search.above_budget
    assert above is not None
    return (search.contract, search.task_id, f"{above.cost:g}", str(above.schedule))


def _cost(search: SearchResult) -> float:
    return 0.0 if search.above_budget is None else search.above_budget.cost


def _tell_limits(page: Page, plan: Plan, notes: Notes) -> None:
    """Say in one sentence how many runs had no end, and which limits would have to be raised."""
    kinds = [runs for runs in notes.cut_off if runs.ending is not Ending.INCONCLUSIVE]
    if not kinds:
        return
    by_key: dict[str, int] = {}
    for runs in kinds:
        key = limit_of(runs)
        by_key[key] = by_key.get(key, 0) + runs.count
    number = sum(by_key.values())
    listed = _listed([f"{count} at {key} ({_limit_text(key, plan.run_limits)})" for key, count in by_key.items()])
    page.gap().line(
        notice(f"{quantity(number, 'run').capitalize()} did not end: "),
        f"{listed}. What they would do later is unknown. They break termination and objective; for other contracts, "
        "nothing is proved beyond the cost of the cheapest of them. If "
        f"your agent may take that long, raise {_listed(list(by_key))}.",
    )


def _tell_slow(page: Page, notes: Notes) -> None:
    """Say how many runs ended only beyond a limit, and which limits would have to be raised."""
    if not notes.slow:
        return
    number = sum(runs.count for runs in notes.slow)
    listed = _listed([str(runs.limit) if len(notes.slow) == 1 else f"{runs.count} {runs.limit}" for runs in notes.slow])
    keys = list(dict.fromkeys(runs.limit.key for runs in notes.slow if runs.limit.key))
    page.gap().line(
        notice(f"{quantity(number, 'run').capitalize()} ended, but only beyond a limit: "),
        f"{listed}. Most contracts judge such a run by all that it did; termination and objective are violated, as it "
        "did not keep its limit. "
        f"If your agent may take that long, raise {_listed(keys) if keys else 'the limit'}.",
    )


def _listed(parts: Sequence[str]) -> str:
    return ", ".join(parts[:-1]) + f" and {parts[-1]}" if len(parts) > 1 else parts[0]


def limit_of(runs: CutOffRuns) -> str:
    """Return the key of the study file with the limit that has ended some runs."""
    if runs.ending is Ending.LIVELOCK:
        return "run.turns_total" if "in one run" in runs.reason else "run.turns"
    return {Ending.STEP_LIMIT: "run.steps", Ending.TIME_LIMIT: "run.virtual_seconds"}.get(
        runs.ending, "run.wall_seconds"
    )


def _limit_text(key: str, limits: RunLimits) -> str:
    value = limit_value(key, limits)
    if value is None:
        return f"{limits.wall_seconds_max:g} s of real time, twice"
    return f"{value:,.0f}, and {EXTENSION} times that in a second run"


def _tell_inconclusive(page: Page, result: StudyResult, notes: Notes) -> None:
    kinds = [runs for runs in notes.cut_off if runs.ending is Ending.INCONCLUSIVE]
    if not kinds:
        return
    number = sum(runs.count for runs in kinds)
    on_track = max(0, result.executions - result.errors - sum(runs.count for runs in notes.cut_off))
    broken = any(one.counterexamples or one.above_budget or one.violated_nominally for one in result.searches)
    others = quantity(on_track, "other run").capitalize()
    clean = "" if broken or not on_track else f" {others} broke no contract."
    page.gap().line(
        notice(f"{quantity(number, 'run').capitalize()} ended as inconclusive, "),
        f"so nothing is proved beyond the cost of the cheapest of them.{clean}",
    )
    for runs in kinds[:REASONS_MAX]:
        reason = printable(runs.reason, characters_max=REASON_CHARACTERS_MAX)
        under = str(runs.schedule) or "no injection"
        page.line(f"{quantity(runs.count, 'run')}, such as under {under}: {reason}", indent=2)
    if len(kinds) > REASONS_MAX:
        page.line(faint(f"... {len(kinds) - REASONS_MAX} more reasons (--json lists them)"), indent=2)


def _tell_unjudged(page: Page, result: StudyResult, notes: Notes) -> None:
    """Say which contracts could not judge some runs, such as crashed ones, where no run was cut off."""
    unjudged = [search for search in result.searches if search.certificate.unknown and not search.certificate.safe]
    if notes.cut_off or not unjudged:
        return
    page.gap().line(
        notice(f"{quantity(len(unjudged), 'search', 'searches').capitalize()} could not judge some runs, "),
        "so nothing is proved beyond the cost of the cheapest of them. A contract that looks at the outcome cannot "
        "judge a run that crashed: let it look at `end.outcome.state`, which `run.state(function)` gives at any end, "
        "or fix the crash.",
    )
    for search in unjudged[:ROWS_MAX]:
        certificate = search.certificate
        under = printable(certificate.unknown_reason, characters_max=REASON_CHARACTERS_MAX)
        page.line(f"{search.contract}: {quantity(certificate.unknown, 'run')}, such as {under}", indent=2)


def not_tried(plan: Plan) -> list[str]:
    """Return the operators that fit an interface that was called, and are not in the space."""
    return left_out(plan.space.operators, plan.space.boundaries)


def _tell_not_tried(page: Page, plan: Plan) -> None:
    names = not_tried(plan)
    if not names:
        return
    if _names_operators(plan):
        families = Counter(f"{name.partition('.')[0]}.*" for name in names)
        listed = _listed([f"{number} {family}" for family, number in sorted(families.items())])
        noun = "operator" if len(names) == 1 else "operators"
        page.gap().line(
            faint(
                f"Not tried, as the study file does not name them: {listed} {noun}. {_what_tries(names)}"
                "`chaosagent list operators` describes them."
            )
        )
        return
    attacks = [name for name in names if "goal" in OPERATORS.get(name).parameters]
    shown = [*attacks, *(name for name in names if name not in attacks)]
    listed = ", ".join(shown[:NAMES_MAX]) + (f" and {len(shown) - NAMES_MAX} more" if len(shown) > NAMES_MAX else "")
    page.gap().line(
        faint(
            f"Not tried, as these operators are off by default: {listed}. Name them in the study file to search them; "
            f"{_what_tries(names)}`chaosagent list operators` describes them."
        )
    )


def _what_tries(names: Sequence[str]) -> str:
    """Say which presets would try some operators, empty when none would."""
    presets = presets_that_try(names)
    return f"`operators: [default, {', '.join(presets)}]` tries {_families(names, presets)}; " if presets else ""


def _families(names: Sequence[str], presets: Sequence[str]) -> str:
    tried = [name for name in names if any(name in operators_of(preset) for preset in presets)]
    return ", ".join(dict.fromkeys(f"{name.partition('.')[0]}.*" for name in tried)) + f" ({len(tried)} of them)"


def _names_operators(plan: Plan) -> bool:
    """Whether the study file has operators of its own, so that others than those off by default may be missing."""
    return {choices.operator for choices in plan.space.choices} != set(searched_by_default())


def cut_off_json(notes: Notes) -> list[Plain]:
    """Return the runs that were cut off as plain data."""
    return [
        {
            "ending": runs.ending.value,
            "limit": None if runs.ending is Ending.INCONCLUSIVE else limit_of(runs),
            "reason": runs.reason,
            "runs": runs.count,
            "task": runs.task_id,
            "seed": runs.seed,
            "schedule": runs.schedule.text,
        }
        for runs in notes.cut_off
    ]


def slow_json(notes: Notes) -> list[Plain]:
    """Return the runs that ended only beyond a limit as plain data."""
    return [
        {
            "limit": runs.limit.key or None,
            "value": runs.limit.text,
            "runs": runs.count,
            "task": runs.task_id,
            "seed": runs.seed,
            "schedule": runs.schedule.text,
        }
        for runs in notes.slow
    ]


def above_budget_json(search: SearchResult) -> Plain:
    """Return the cheapest violation that was seen above the budget as plain data."""
    above = search.above_budget
    return None if above is None else {"cost": above.cost, "schedule": above.schedule.text}
