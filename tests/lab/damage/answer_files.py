"""Valid files of answers to be damaged, and reading them again."""

from __future__ import annotations

from pathlib import Path

from chaosagent.execution.answers_on_disk import AnswersOnDisk, repair_answers
from chaosagent.execution.run.frozen import key_of
from chaosagent.faults.crossing import Request, Response
from chaosagent.faults.dry import pack_request, pack_response
from tests.lab.damage.stores import answer_to

COUNT = 60
QUESTIONS = {
    key_of(b"scope", f"model:assistant[{number}]", pack_request(Request("chat", {"prompt": f"question {number}"}))): (
        pack_response(Response({**answer_to(f"question {number}"), "text": "word " * (number % 9) ** 3}, None))
    )
    for number in range(COUNT)
}
"""What was asked, by key, and answered; some answers fill more than a page."""


def make(path: Path) -> None:
    """Make a file of answers."""
    answers = AnswersOnDisk(path)
    for key, answer in QUESTIONS.items():
        answers.keep(key, answer)


def read(path: Path, *, mended: bool) -> str:
    """Ask a file everything again, as a run does: what is not there is asked and kept, and must be there then.

    Args:
        path: Of the file.
        mended: Mend it first, as a study and `chaosagent proxy` do.

    Returns:
        What changed, empty when nothing did.
    """
    if mended:
        repair_answers(path)
    answers = AnswersOnDisk(path)
    for key, expected in QUESTIONS.items():
        known = answers.get(key)
        if known is None:
            answers.keep(key, expected)
            known = AnswersOnDisk(path).get(key)
        if known != expected:
            return f"{known!r:.100} instead of {expected!r:.100}"
    return ""
