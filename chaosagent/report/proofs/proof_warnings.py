"""Warnings about proofs: contradicted rules, undeclared state, proofs that say little, limits that were close."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase

from chaosagent.effects.suspect import REMEDY, suspects_in_words
from chaosagent.faults.outside_access import REMEDY as REMEDY_OF_ACCESSES
from chaosagent.faults.outside_access import OutsideAccess, listed_accesses
from chaosagent.faults.space import Space
from chaosagent.limits import RunLimits
from chaosagent.report.notes import Notes
from chaosagent.report.page import Page, bad, notice
from chaosagent.report.printable import printable
from chaosagent.report.story import quantity
from chaosagent.searchers.proof.limits import limit_share_max
from chaosagent.study.certificate import UNREPEATED, Certificate, list_names
from chaosagent.study.divergence import INTO_A_FRESH_FOLDER
from chaosagent.study.plan import Plan
from chaosagent.study.result import SearchResult, StudyResult
from chaosagent.study.searcher import Problem
from chaosagent.trace.upstream_retry import REMEDY as REMEDY_OF_RETRIES
from chaosagent.trace.upstream_retry import listed_retries

CHECKPOINTS_MAX = 10
VARIABLES_MAX = 5
CHARACTERS_MAX = 80


def reservation_of(safe: Sequence[SearchResult]) -> str:
    """Say what a proof rests on that the target makes doubtful."""
    doubts = []
    if any(search.certificate.reads for search in safe):
        doubts.append("the clock reads and random numbers listed below do not matter")
    if any(rests_on_undeclared(search.certificate) for search in safe):
        doubts.append("what checkpoints leave out does not matter (listed below)")
    if any(search.certificate.changed for search in safe):
        doubts.append("what runs change in your modules does not matter (listed below)")
    if any(search.certificate.written for search in safe):
        doubts.append("what the target keeps in files does not matter (listed below)")
    return f", if {' and '.join(doubts)}" if doubts else ""


def report_changed_variables(page: Page, result: StudyResult) -> None:
    """Name the variables of modules that runs change, where something is proved all the same."""
    found = _named(certificate.changed for certificate in _proofs(result))
    if found:
        page.gap().line(
            notice("Runs change variables of your modules: "),
            f"{_listed(found)}. Runs that were repeated in processes of their own were equal, so nothing shows "
            "that it matters. To be sure, make the world within the function, or say `fresh: true` in the study file.",
        )


def report_outside_accesses(page: Page, plan: Plan, notes: Notes) -> None:
    """Name what the target opens outside of its doors, but for what the study allows."""
    found = untold_accesses(plan, notes)
    if found:
        page.gap().line(
            notice("Outside of its doors the target "),
            f"{listed_accesses(found)}. No fault reaches that, a search really does it, and runs may depend on it. "
            f"{REMEDY_OF_ACCESSES}",
        )


def report_retries(page: Page, notes: Notes) -> None:
    """Name the requests that clients behind doors have sent again by themselves."""
    if notes.retries:
        page.gap().line(
            notice("A client behind a door retries by itself: "),
            f"{listed_retries(notes.retries)}. {REMEDY_OF_RETRIES}",
        )


def untold_accesses(plan: Plan, notes: Notes) -> list[OutsideAccess]:
    """Return what runs have opened outside of doors that no pattern of the study allows."""
    return [one for one in notes.accesses if not any(fnmatchcase(one.what, pattern) for pattern in plan.allow)]


def report_written_files(page: Page, result: StudyResult) -> None:
    """Name the files that the target writes, where something is proved all the same."""
    found = _named(certificate.written for certificate in _proofs(result))
    if found:
        page.gap().line(
            notice("The target writes files: "),
            f"{_listed(found, 'file')}. chaosagent does not reset files between runs, so all repeats read what "
            f"earlier runs wrote. To be sure that it does not matter, {INTO_A_FRESH_FOLDER}.",
        )


def _proofs(result: StudyResult) -> Iterator[Certificate]:
    """Yield the certificates that prove something."""
    for search in result.searches:
        if search.certificate.reproduced and search.certificate.level != "C0":
            yield search.certificate


def _named(found: Iterable[Iterable[str]]) -> list[str]:
    """Return names, each once, in the order in which they come."""
    return list(dict.fromkeys(name for names in found for name in names))


def is_unrepeated(search: SearchResult) -> bool:
    """Whether a search would have proved something, had its runs been repeated."""
    return search.certificate.unrepeated and search.certificate.level != "C0"


def report_unrepeated(page: Page, plan: Plan, result: StudyResult) -> None:
    """Say that nothing is proved yet, where the study ended before the repeats in other processes."""
    number = sum(map(is_unrepeated, result.searches))
    if number:
        page.gap().line(
            notice(f"Nothing is proved yet in {quantity(number, 'search', 'searches')}: "),
            f"{UNREPEATED}. Give the same command with --resume{more_time(plan, result)} to have them repeated.",
        )


def more_time(plan: Plan, result: StudyResult) -> str:
    """Say what else a resumed study needs: a limit for all sessions is over for the next one, too."""
    seconds = plan.limits.seconds_max
    return "" if seconds is None or result.interrupted else f" and --seconds above {seconds:,.0f}"


def rests_on_undeclared(certificate: Certificate) -> bool:
    """Whether a proof used rule R3 although variables differed where it merged runs."""
    is_used = certificate.level != "C0" and certificate.lower_bound > 0 and certificate.reproduced
    return is_used and bool(certificate.pruned.get("R3")) and bool(certificate.undeclared)


def report_undeclared(page: Page, result: StudyResult) -> None:
    """Name the variables that checkpoints leave out, of the searches whose proofs rest on these checkpoints."""
    resting = [search.certificate for search in result.searches if rests_on_undeclared(search.certificate)]
    if not resting:
        return
    number = quantity(len(resting), "proof").capitalize()
    page.gap().line(
        notice(f"{number} {'rests' if len(resting) == 1 else 'rest'} on checkpoints that leave something out: "),
        "variables differed where the declared states were equal. The audit ran combinations of faults that leave them "
        "different, and none contradicted rule R3. To prove it without that rule: `settings: {r3: false}`.",
    )
    places: dict[str, dict[str, None]] = {}
    for certificate in resting:
        for variable, place in map(split_undeclared, certificate.undeclared):
            places.setdefault(place, {})[variable] = None
    for place, variables in list(places.items())[:CHECKPOINTS_MAX]:
        it = "it" if len(variables) == 1 else "them"
        page.line(
            f"Checkpoint {place} leaves out {_listed(list(variables))}: declare {it}, or show that "
            f"{'it does' if len(variables) == 1 else 'they do'} not matter.",
            indent=2,
        )
    if len(places) > CHECKPOINTS_MAX:
        page.line(f"... {len(places) - CHECKPOINTS_MAX} more checkpoints (--json lists them)", indent=2)


def _listed(variables: Sequence[str], kind: str = "variable") -> str:
    shown = ", ".join(f"`{printable(name, characters_max=CHARACTERS_MAX)}`" for name in variables[:VARIABLES_MAX])
    left = len(variables) - VARIABLES_MAX
    return f"{shown} and {quantity(left, f'other {kind}')}" if left > 0 else shown


def split_undeclared(text: str) -> tuple[str, str]:
    """Return a variable and the checkpoint in quotes, of what `Certificate.undeclared` says."""
    variable, _, place = text.partition(" (checkpoint ")
    return variable, printable(place.removesuffix(")"), characters_max=CHARACTERS_MAX)


SEARCHES_MAX = 5

CAUSES = {
    "R1": "An operator begins to act at another moment than its crossing shows.",
    "R2": "A label of the target, such as read_only or an effect, does not say what the target does.",
    "R3": (
        "Two runs were equal at a checkpoint and then differed: the checkpoint leaves out something that the future "
        "depends on, and which variable that is could not be found."
    ),
    "monotone": "A stronger level of a parameter that an operator declares monotone breaks less than a weaker one.",
    "lineage": "The provenance that the target declares complete leaves something out.",
}
"""Why a rule is contradicted, most likely."""


def report_contradictions(page: Page, searches: Sequence[SearchResult]) -> None:
    """Say which rules were contradicted by runs, and what is likely wrong.

    Args:
        page: Where to say it.
        searches: Of the study.
    """
    certificates = [search.certificate for search in searches if search.certificate.contradictions]
    undeclared = tuple(dict.fromkeys(name for one in certificates for name in one.undeclared))
    rules = sorted({rule for one in certificates for rule in one.contradicted})
    causes = [CAUSES[rule] for rule in rules if rule in CAUSES and not (rule == "R3" and undeclared)]
    if undeclared and "R3" in rules:
        causes.append(
            f"Checkpoints of the target do not declare {list_names(undeclared)}, on which the contract may depend."
        )
    number = sum(certificate.contradictions for certificate in certificates)
    named = f"rule {' and rule '.join(rules)}" if rules else "a rule"
    page.gap().line(
        bad(f"The audit contradicted {named} {quantity(number, 'time')}: "),
        f"{'they were' if len(rules) > 1 else 'it was'} switched off and what it had pruned was searched. ",
        " ".join(causes),
    )
    if "R3" in rules:
        _tell_others(page, searches)


def _tell_others(page: Page, searches: Sequence[SearchResult]) -> None:
    """Say what a contradiction of rule R3 means for other searches of the task, and what to do."""
    by = dict.fromkeys(
        f"{search.contract} (task {printable(search.task_id)!r})"
        for search in searches
        if "R3" in search.certificate.contradicted
    )
    without = [search.certificate for search in searches if search.certificate.contradicted_by]
    withdrawn = sum(bool(certificate.pruned.get("R3")) for certificate in without)
    told = f"Rule R3 was contradicted in the search for {', '.join(list(by)[:SEARCHES_MAX])}"
    told += f" and {len(by) - SEARCHES_MAX} more" if len(by) > SEARCHES_MAX else ""
    if len(without) > withdrawn:
        told += f"; {quantity(len(without) - withdrawn, 'other search', 'other searches')} of that task did without it"
    if withdrawn:
        told += f"; what {quantity(withdrawn, 'search', 'searches')} with other seeds proved with it is withdrawn"
    page.line(f"{told}. Declare the variable, or search without the rule: `settings: {{r3: false}}`.", indent=2)


def report_disproved(page: Page, result: StudyResult) -> None:
    """Say that nothing is proved, and why, where a lower bound was claimed that is false."""
    told = next((one.certificate.disproved for one in result.searches if one.certificate.disproved), "")
    if told:
        page.gap().line(
            bad("Nothing is proved: "),
            f"{told}. So no bound of it is believed, in no search. The searcher is wrong, or rests on something that "
            "is declared: by the target, such as read_only, an effect or a checkpoint, or by an operator, such as a "
            "monotone parameter. What was found stands.",
        )


def report_empty_proofs(page: Page, plan: Plan, result: StudyResult, notes: Notes, *, has_errors: bool) -> None:
    """Warn of proofs that say nothing, or less than was meant.

    Args:
        page: Where it is told.
        plan: What was asked for.
        result: What came of it.
        notes: What single runs told.
        has_errors: Whether runs ended as errors.
    """
    unmatched, idle = plan.space.unmatched, plan.space.idle
    if unmatched:
        page.gap().line(
            notice("Nothing that was called matches "),
            "; ".join(unmatched)
            + ". The proof does not cover such places: correct the spelling, or remove the pattern.",
        )
    if idle:
        page.gap().line(
            notice("Nothing that was called can take "),
            f"{'; '.join(idle)}. The proof does not cover {_operators(idle)}: give the target such a door, or do not "
            "name the operator.",
        )
    suspects = suspects_in_words(notes.suspects)
    if suspects:
        page.gap().line(notice("Answers that look like errors count as commits: "), f"{suspects}. {REMEDY}")
    searches = result.searches
    empty = [search for search in searches if search.certificate.safe and not search.injectable]
    if empty:
        page.gap().line(
            notice(f"In {quantity(len(empty), 'search', 'searches')} nothing could be injected: "), _why_empty(plan)
        )
    ran = result.executions and not has_errors
    if searches and ran and not any(search.effect_count for search in searches):
        page.gap().line(
            notice("No task commits an effect in its run without faults: "),
            "most default contracts compare effects. "
            + (
                "Its doors declare `effects`, so that is right if these tasks should change nothing."
                if notes.declares_effects
                else "If the target changes its world, declare `effects` at its doors."
            ),
        )


def gaps_of(space: Space) -> str:
    """Say which parts of the study file could not be tested, so that the exit code is 3; empty if all were.

    Args:
        space: After the study.
    """
    gaps = []
    if space.idle:
        number = "was" if len(space.idle) == 1 else "were"
        gaps.append(f"{_operators(space.idle)} {number} never injected")
    if space.unmatched:
        gaps.append(f"a pattern of {_operators(space.unmatched)} matched nothing")
    return f" But {' and '.join(gaps)}, so the exit code is 3." if gaps else ""


def _operators(told: Sequence[str]) -> str:
    """Return the operators of entries of `Space.idle` or `Space.unmatched`."""
    names = list(dict.fromkeys(one.partition(":")[0] for one in told))
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]


def _why_empty(plan: Plan) -> str:
    space, budget = plan.space, plan.budget
    if not space.interfaces:
        return (
            "the target calls no door, so that nothing is proved. Put its models and tools behind doors of its run, by "
            "hand or with an adapter."
        )
    if space.cost_min > budget:
        return f"the cheapest fault costs {space.cost_min:g}, and the budget is {budget:g}. Raise the budget."
    return "nothing is proved there. Allow operators that fit the target's interfaces, or raise the budget."


def report_near_limits(page: Page, plan: Plan, result: StudyResult, notes: Notes) -> None:
    """Say in how many searches rule R3 was switched off, and which limit would have to be raised.

    Without checkpoints there is nothing to merge, so nothing is said.

    Args:
        page: Where to say it.
        plan: What was to be done.
        result: What came of it.
        notes: What single runs told.
    """
    without = [search for search in result.searches if search.certificate.near_limit]
    if not without or not notes.has_checkpoints:
        return
    share = max(search.certificate.near_limit for search in without)
    page.gap().line(
        notice(f"Rule R3 was switched off in {quantity(len(without), 'search', 'searches')}: "),
        f"a run used {math.floor(100 * share)} % of {_limit(notes, share)}, and one that R3 leaves out could have "
        f"reached that limit. Without R3 a search takes more runs. {_remedy(plan, without, notes)}",
    )


def _limit(notes: Notes, share: float) -> str:
    """Return the key of the limit of which a run has used that share."""
    known = [key for key, most in notes.spent.items() if most >= share]
    return known[0] if known else "one of its limits"


def _remedy(plan: Plan, without: Sequence[SearchResult], notes: Notes) -> str:
    least = min(search.certificate.near_limit for search in without)
    keys = [key for key, most in notes.spent.items() if most >= least]
    raised = " and ".join(_raised(plan, key, notes.spent[key]) for key in keys)
    return f"To keep it, raise {raised or 'run.virtual_seconds, run.steps or run.turns'}."


def _raised(plan: Plan, key: str, share: float) -> str:
    """Return a limit and the value at which the same runs would not come too near to it."""
    limit = limit_value(key, plan.run_limits)
    if share >= 1.0 or limit is None:
        return key  # how much more such a run would need is not known
    share_max = limit_share_max(Problem("", 0, plan.space, plan.budget, 0))
    return f"{key} to {_rounded_up(share * limit / share_max)}"


def limit_value(key: str, limits: RunLimits) -> float | None:
    """Return the value of a limit of one run by its key in study files; `None` where there is no such key."""
    return {
        "run.steps": limits.steps_max,
        "run.turns": limits.turns_max,
        "run.turns_total": limits.turns_total_max,
        "run.virtual_seconds": limits.virtual_seconds_max,
    }.get(key)


def _rounded_up(value: float) -> int:
    """Return the next number above with two digits and zeros."""
    unit = int(10 ** max(0, math.floor(math.log10(max(value, 1.0))) - 1))
    return (math.floor(value / unit) + 1) * unit
