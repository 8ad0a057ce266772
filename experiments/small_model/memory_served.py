"""How many answers of the model a search took from its frozen answers instead of asking the model.

Usage: `python -m chaosagent.experiments.small_model.memory_served [FOLDER]`, the folder of a study that has ended.
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from chaosagent.errors import UsageError
from chaosagent.faults.evaluation import Evaluation
from chaosagent.study.store import ANSWERS_NAME
from chaosagent.study.stored import decode_evaluation

FOLDER = Path("chaosagent-out/small_model")
STUDY_NAME = "study.db"
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
        UsageError: It holds no study of a target that answers by chance.
    """
    return Served(
        frozen=_asked(_evaluations(folder, "execution")),
        drawn=_rows(folder, ANSWERS_NAME, "SELECT count(*) FROM answer")[0][0],
        fresh=_asked(_evaluations(folder, "draw")),
    )


def _evaluations(folder: Path, table: str) -> Iterator[Evaluation]:
    for (data,) in _rows(folder, STUDY_NAME, f"SELECT evaluation FROM {table}"):
        yield decode_evaluation(data)


def _asked(evaluations: Iterator[Evaluation]) -> Asked:
    questions = [sum(crossing.place.interface == MODEL for crossing in one.crossings) for one in evaluations]
    return Asked(len(questions), sum(questions))


def _rows(folder: Path, name: str, query: str) -> list[tuple[Any]]:
    path = folder / name
    if not path.is_file():
        raise UsageError(
            f"there is no {path}. Name the folder of a study, after "
            "`chaosagent search experiments/small_model/study.yaml`."
        )
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
        return connection.execute(query).fetchall()


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
