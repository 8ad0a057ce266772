"""What changed since an earlier stored study, for the page of the later one."""

from __future__ import annotations

from chaosagent.api.stored.comparing import StudyComparison
from chaosagent.api.stored.comparison_page import BY_CAUSE, MEANINGS, ROWS_MAX, listed, outcome_text, verdict_of
from chaosagent.api.stored.study_facts import study_facts
from chaosagent.metrics.comparison import Change, Difference
from chaosagent.report.html.changes import ChangedCause, ChangedSearches, Changes
from chaosagent.report.story import quantity


def changes_in(compared: StudyComparison) -> Changes:
    """Return what changed from the first study of a comparison to the second one."""
    result = compared.comparison
    return Changes(
        study_facts(compared.first.folder),
        verdict_of(compared).text,
        "bad" if result.worse else "unclear" if result.undetermined else "good",
        [
            ChangedCause(title, f"{cause.lead.cost:g}", len(cause.findings), cause.headline)
            for title, changes in BY_CAUSE.items()
            for cause in compared.causes(changes)[:ROWS_MAX]
        ],
        [
            ChangedSearches(
                change.value,
                meaning,
                [_row(one, compared) for one in found[:ROWS_MAX]],
                max(0, len(found) - ROWS_MAX),
            )
            for change, meaning in MEANINGS.items()
            for found in [[one for one in result.differences if one.change is change]]
            if found
        ],
        _unshared(compared),
    )


def _row(one: Difference, compared: StudyComparison) -> tuple[str, str, int, str, str, str]:
    told = compared.second if one.after.counterexample else compared.first
    known = told.counterexamples.get(one.after.counterexample or one.before.counterexample)
    is_open = one.change in (Change.PROVED, Change.UNPROVED) or known is None
    why = "; ".join(filter(None, ("" if is_open or known is None else str(known.schedule), one.note)))
    key = one.key
    return key.contract, key.task, key.seed, outcome_text(one.before), outcome_text(one.after), why


def _unshared(compared: StudyComparison) -> list[str]:
    result, told = compared.comparison, []
    for name, keys, operators in zip(
        ("the earlier study", "this study"),
        (result.only_before, result.only_after),
        compared.unshared_operators,
        strict=True,
    ):
        if keys:
            told.append(f"Only {name} has {quantity(len(keys), 'search', 'searches')}: {listed(keys)}.")
        if operators:
            told.append(f"Only {name} has the operators {', '.join(operators[:ROWS_MAX])}.")
    budgets = compared.first.result.budget, compared.second.result.budget
    if budgets[0] != budgets[1]:
        told.append(f"The budgets are {budgets[0]:g} and {budgets[1]:g}; up to the lower one they are compared.")
    return told
