"""What is said where a run has contradicted a rule of a search, or what a searcher claims."""

from __future__ import annotations

from collections.abc import Sequence

from chaosagent.report.page import Page, bad
from chaosagent.report.printable import printable
from chaosagent.report.story import counted
from chaosagent.study.certificate import listed
from chaosagent.study.result import SearchResult, StudyResult

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


def tell_contradictions(page: Page, searches: Sequence[SearchResult]) -> None:
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
            f"Checkpoints of the target do not declare {listed(undeclared)}, on which the contract may depend."
        )
    number = sum(certificate.contradictions for certificate in certificates)
    named = f"rule {' and rule '.join(rules)}" if rules else "a rule"
    page.gap().line(
        bad(f"The audit contradicted {named} {counted(number, 'time')}: "),
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
        told += f"; {counted(len(without) - withdrawn, 'other search', 'other searches')} of that task did without it"
    if withdrawn:
        told += f"; what {counted(withdrawn, 'search', 'searches')} with other seeds proved with it is withdrawn"
    page.line(f"{told}. Declare the variable, or search without the rule: `settings: {{r3: false}}`.", indent=2)


def tell_disproved(page: Page, result: StudyResult) -> None:
    """Say that nothing is proved, and why, where a lower bound was claimed that is false."""
    told = next((one.certificate.disproved for one in result.searches if one.certificate.disproved), "")
    if told:
        page.gap().line(
            bad("Nothing is proved: "),
            f"{told}. So no bound of it is believed, in no search. The searcher is wrong, or rests on something that "
            "is declared: by the target, such as read_only, an effect or a checkpoint, or by an operator, such as a "
            "monotone parameter. What was found stands.",
        )
