"""Searches that are ended once and resumed, compared with one that nobody has ended."""

from __future__ import annotations

import itertools
import random
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.command_line import PROGRAM
from tests.lab.kill_matrix.sessions import ENDINGS, Session, names_in
from tests.lab.kill_matrix.studies import write_study
from tests.lab.kills.attack import result_in

LIFE_MAX = 300.0
"""Seconds that a search may take which nobody ends."""
QUICK, REPEATING = ("-c", PROGRAM), ("-m", "chaosagent")


class Matrix:
    """Searches of one study on one executor.

    Args:
        base: An empty folder.
        study: One of `STUDIES`.
        executor: Where the runs happen.
        program: What Python is given: the command line, with repeats of runs in further processes or without.

    Attributes:
        life: Seconds that a search took which nobody has ended.
    """

    def __init__(self, base: Path, study: str, executor: str, program: Sequence[str]) -> None:
        self._base, self._executor, self._program = base, executor, program
        self._numbers = itertools.count()
        self._file = write_study(base / "study", study)
        whole = self._session("whole")
        self._code, self.life, _ = whole.let_end(LIFE_MAX)
        assert self._code in {0, 1, 3}, whole.printed
        whole.temporary_files()
        self._result, self._names = result_in(whole.out), names_in(whole.out)

    def _session(self, name: str) -> Session:
        folder = self._base / name
        folder.mkdir(exist_ok=True)
        return Session(self._file, folder, self._executor, self._program)

    def wrong(self, ending: str, moment: float, again: float) -> list[str]:
        """Return what is wrong once a search was ended and resumed; nothing is what is to come.

        Args:
            ending: One of `ENDINGS`.
            moment: Seconds from its start to the signal.
            again: Seconds from that to a second one.
        """
        killed = self._session(f"k{next(self._numbers)}")
        code, lasted, was_over = killed.end(ending, moment, again, LIFE_MAX)
        found = [f"{lasted - moment:.1f} s from the signal to its end"] if lasted - moment > LIFE_MAX / 4 else []
        if not was_over and code not in {*ENDINGS[ending].codes, self._code}:
            found.append(f"exit code {code}: {killed.printed}")
        if "Traceback" in killed.printed and killed.has_store:
            found.append(killed.printed)
        found += killed.left_running()
        found += [f"left after {ending}: {name}" for name in killed.temporary_files()]
        if ENDINGS[ending].is_orderly:
            found += [f"left in the folder: {name}" for name in names_in(killed.out) if name.startswith(".")]
        found += self._resumed(killed.folder.name)
        if not found:
            shutil.rmtree(killed.folder, ignore_errors=True)
        return found

    def _resumed(self, name: str) -> list[str]:
        resumed = self._session(name)
        code, _, _ = resumed.let_end(LIFE_MAX)
        found = resumed.left_running()
        if code != self._code:
            return [*found, f"resumed: exit code {code}: {resumed.printed}"]
        if result_in(resumed.out) != self._result:
            found.append(f"resumed: another result than {self._base / 'whole'}: {resumed.out}")
        if names_in(resumed.out) != self._names:
            found.append(f"resumed: files {sorted(set(names_in(resumed.out)) ^ set(self._names))} differ")
        return [*found, *(f"resumed: left {name}" for name in resumed.temporary_files())]


def moments_of(count: int, life: float, rng: random.Random) -> Iterator[tuple[float, float]]:
    """Yield moments that cover a life evenly, each with the seconds after which a second signal comes."""
    for number in range(count):
        yield life * (number + rng.random()) / count, rng.choice((0.01, 0.05, 0.2, 0.6))
