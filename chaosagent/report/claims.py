"""What is said of a searcher whose claims a run has contradicted."""

from __future__ import annotations

from chaosagent.report.page import Page, bad
from chaosagent.study.result import StudyResult


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
