"""How many answers of the model a search took from its frozen answers instead of asking the model.

Usage: `python -m chaosagent.experiments.small_model.memory_served [FOLDER]`, the folder of a study that has ended.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from chaosagent.errors import UsageError
from chaosagent.execution.answers_on_disk import answer_count
from chaosagent.faults.evaluation import Evaluation
from chaosagent.study.store.files import ANSWERS_NAME, FILE_NAME
from chaosagent.study.store.reading import open_closed_store

FOLDER = Path("chaosagent-out/small_model")
MODEL = "model:smollm2"


class Asked(NamedTuple):
    """Runs, and how often the desk asked its model in them.

    Attributes:
        runs: How many.
        questions: In all of them.
    """

    runs: int
    questions: int


class Served(NamedTuple):
    """What was asked in a search, and what was answered.

    Attributes:
        frozen: Runs with frozen answers; one that drew some is made again, and counted once.
        drawn: Answers that were frozen; each was drawn once.
        fresh: Runs with answers of their own, all drawn.
    """

    frozen: Asked
    drawn: int
    fresh: Asked

    @property
    def share(self) -> float:
        """Which share of the questions of runs with frozen answers was not put to the model."""
        return 1.0 - self.drawn / self.frozen.questions if self.frozen.questions else 0.0


def served_in(folder: Path) -> Served:
    """Count in the folder of a study.

    Raises:
        UsageError: It holds no study of a target that answers by chance, or what it holds is damaged.
    """
    for name in (FILE_NAME, ANSWERS_NAME):
        if not (folder / name).is_file():
            raise UsageError(
                f"there is no {folder / name}. Name the folder of a study, after "
                "`chaosagent search experiments/small_model/study.yaml`."
            )
    with open_closed_store(folder / FILE_NAME) as store:
        return Served(
            frozen=_asked(told.evaluation for told in store.evaluations("execution")),
            drawn=answer_count(folder / ANSWERS_NAME, store.facts.get("answers", "")),
            fresh=_asked(told.evaluation for told in store.evaluations("draw")),
        )


def _asked(evaluations: Iterator[Evaluation]) -> Asked:
    questions = [sum(crossing.place.interface == MODEL for crossing in one.crossings) for one in evaluations]
    return Asked(len(questions), sum(questions))


def main(folder: Path) -> int:
    """Print what was asked in a search, and return the exit code."""
    try:
        served = served_in(folder)
    except UsageError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{served.frozen.runs} runs with frozen answers ask {served.frozen.questions} times")
    print(f"{served.drawn} answers were drawn for them: {served.share:.0%} were there already")
    print(f"{served.fresh.runs} fresh runs ask {served.fresh.questions} times")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if sys.argv[1:] else FOLDER))
