"""What is said where a run has contradicted a rule of a search, or what a searcher claims."""

from __future__ import annotations

from collections.abc import Sequence

from chaosagent.report.page import Page, bad
from chaosagent.report.story import counted
from chaosagent.study.certificate import Certificate, listed
from chaosagent.study.result import StudyResult

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


def tell_contradictions(page: Page, certificates: Sequence[Certificate]) -> None:
    """Say which rules were contradicted by runs, and what is likely wrong.

    Args:
        page: Where to say it.
        certificates: Those with contradictions.
    """
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
