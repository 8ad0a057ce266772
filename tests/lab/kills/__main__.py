"""Kills a study: `python -m tests.lab.kills --kills 30 --seed 0`."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.lab.kills.attack import STUDY, killed_study, result_in, started


def main() -> int:
    """Kill a study, and say whether it ended as one that nobody killed; exit code 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--longest", type=float, default=8.0, help="seconds from a start to its kill at most")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as base:
        study, whole, killed = Path(base) / "study.yaml", Path(base) / "whole", Path(base) / "killed"
        study.write_text(STUDY, encoding="utf-8")
        started(study, whole).wait()
        watch = killed_study(study, killed, asked.kills, asked.seed, asked.longest)
        same = result_in(whole) == result_in(killed)
    print(f"{asked.kills} kills; status asked {watch.asked} times, wrong {len(watch.wrong)} times; same result: {same}")
    for line in watch.wrong:
        print(f"  {line}")
    return 0 if same and not watch.wrong else 1


if __name__ == "__main__":
    sys.exit(main())
