"""Replays records of random agents in random edits of them: `python -m tests.lab.edits --pairs 1000`.

Prints the outcomes of each kind of edit, and the pairs whose outcome is wrong; exit code 1 if HELD was ever false, if
less than 95 % of the true fixes are HELD, or if any other outcome is not the one that is right for its kind.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from collections import Counter

from tests.lab.edits.edits import HELD, KINDS
from tests.lab.edits.trials import Trial, trial

HELD_SHARE_MIN = 0.95


def main() -> int:
    """Make the pairs, and print what came of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=1_000)
    parser.add_argument("--first", type=int, default=0, help="the first number")
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    numbers = range(asked.first, asked.first + asked.pairs)
    with multiprocessing.Pool(asked.jobs) as pool:
        lines = [_line(one) for one in pool.imap(trial, numbers, chunksize=8)]
    return report(lines)


Line = tuple[int, str, str, bool, bool, bool, str]
"""Number, kind, outcome, whether it is right, whether HELD is false, whether it is truly fixed, and the detail."""


def _line(one: Trial) -> Line:
    fixed = one.kind.is_fix and one.is_fixed
    outcome = one.replay.outcome.value
    return one.number, one.kind.name, outcome, one.is_right, one.is_false_held, fixed, one.replay.detail


def report(lines: list[Line]) -> int:
    """Print a table, and what is wrong; return the exit code."""
    by_kind: dict[str, Counter[str]] = {kind.name: Counter() for kind in KINDS}
    for _, kind, outcome, *_ in lines:
        by_kind[kind][outcome] += 1
    for kind, counts in by_kind.items():
        print(f"{kind:45} {', '.join(f'{count} {outcome}' for outcome, count in sorted(counts.items()))}")
    fixes = [outcome for _, _, outcome, _, _, fixed, _ in lines if fixed]
    held = fixes.count(HELD.value)
    wrong = [line for line in lines if not line[3]]
    false = [line for line in lines if line[4]]
    for number, kind, outcome, _, _, _, detail in wrong:
        print(f"wrong: pair {number}, {kind}: {outcome}: {detail[:200]}")
    print(f"{len(lines)} pairs: {len(false)} false HELD, {len(wrong)} wrong; {held} of {len(fixes)} true fixes HELD")
    return int(bool(wrong) or bool(false) or held < HELD_SHARE_MIN * len(fixes))


if __name__ == "__main__":
    sys.exit(main())
