"""Kills a proxy under load: `python -m tests.lab.proxy_load --moments 20 --clients 200 --slow 300 --large 3`.

At each moment a proxy with `--record` serves clients that ask at once, callers whose body never comes to its end, and
bodies of 100 MB; then SIGKILL ends it. Every answer that a client got must be in the recording.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import tempfile
from pathlib import Path

from tests.lab.proxy_load.attack import Load, killed_under_load


def main() -> int:
    """Print a line for each moment; exit code 1 if an answer was lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moments", type=int, default=20)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--slow", type=int, default=300)
    parser.add_argument("--large", type=int, default=3, help="bodies of 100 MB that are sent at once, again and again")
    parser.add_argument("--longest", type=float, default=12.0, help="seconds to the last moment")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    rng, lost, peak = random.Random(asked.seed), 0, 0
    for number in range(asked.moments):
        seconds = asked.longest * (number + rng.random()) / asked.moments
        with tempfile.TemporaryDirectory() as folder:
            seen = killed_under_load(Path(folder), Load(asked.clients, asked.slow, asked.large), seconds)
        lost, peak = lost + seen.lost, max(peak, seen.megabytes)
        print(f"killed after {seconds:.1f} s: {seen}", flush=True)
    print(f"{asked.moments} kills: {lost} answers lost; at most {peak} MB of memory")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
