"""Ends searches in every way and at many moments, resumes them, and looks for differences and for what is left.

`python -m tests.lab.kill_matrix --moments 30 --executors inline process ray`

Each search is ended once, at a moment of its life from its first instant to its last. It must leave no process (so
no port either) and no temporary file; after `--resume` everything must be as in a search that nobody has ended.
"""

from __future__ import annotations

import argparse
import itertools
import random
import shutil
import signal
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.lab.kill_matrix.matrix import QUICK, REPEATING, Matrix, moments_of
from tests.lab.kill_matrix.sessions import ENDINGS
from tests.lab.kill_matrix.studies import STUDIES


def main() -> int:
    """End searches, and print a line for each study, executor and way to end; exit code 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moments", type=int, default=30)
    parser.add_argument("--executors", nargs="+", default=["inline", "process", "ray"])
    parser.add_argument("--studies", nargs="+", default=sorted(STUDIES), choices=sorted(STUDIES))
    parser.add_argument("--endings", nargs="+", default=list(ENDINGS), choices=list(ENDINGS))
    parser.add_argument("--repeats", action="store_true", help="repeat runs in further processes, which takes longest")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # shells have background jobs ignore it
    wrong = 0
    for study, executor in itertools.product(asked.studies, asked.executors):
        base = Path(tempfile.mkdtemp(prefix="km-"))
        matrix = Matrix(base, study, executor, REPEATING if asked.repeats else QUICK)
        print(f"{study} on {executor}: {matrix.life:.1f} s when nobody ends it", flush=True)
        for ending in asked.endings:
            rng = random.Random(f"{asked.seed} {study} {executor} {ending}")
            counts: Counter[str] = Counter()
            for moment, again in moments_of(asked.moments, matrix.life, rng):
                found = matrix.wrong(ending, moment, again)
                counts["wrong" if found else "right"] += 1
                for line in found:
                    print(f"  {ending} after {moment:.2f} s (again {again}): {line}", flush=True)
            print(f"  {ending}: {dict(counts)}", flush=True)
            wrong += counts["wrong"]
        if not wrong:
            shutil.rmtree(base, ignore_errors=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
