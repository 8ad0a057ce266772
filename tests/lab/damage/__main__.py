"""Damages all that is read from files, and prints how that ended.

`python -m tests.lab.damage --records 20000 --studies 5000 --spans 5000 --stores 2000 --answers 2000`
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from collections import Counter
from collections.abc import Callable, Iterable

from tests.lab.damage.attack import attack_answers, attack_store
from tests.lab.damage.outcome import Case, Outcome
from tests.lab.damage.records import attack_record
from tests.lab.damage.spans import attack_spans
from tests.lab.damage.studies import attack_study

SHOWN = 300


def main() -> int:
    """Damage files, and print how they ended; exit code 1 if any ended wrongly."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=2000)
    parser.add_argument("--studies", type=int, default=500)
    parser.add_argument("--spans", type=int, default=500)
    parser.add_argument("--stores", type=int, default=200)
    parser.add_argument("--answers", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=multiprocessing.cpu_count())
    parser.add_argument("--verbose", action="store_true", help="show each case, not only wrong ones")
    asked = parser.parse_args()
    wrong = 0
    with multiprocessing.Pool(asked.jobs) as pool:
        attacks: list[tuple[str, Callable[[int], Case], int]] = [
            ("records", attack_record, asked.records),
            ("study files", attack_study, asked.studies),
            ("files of spans", attack_spans, asked.spans),
            ("stores", attack_store, asked.stores),
            ("files of answers", attack_answers, asked.answers),
        ]
        for name, attack, count in attacks:
            numbers = range(asked.first, asked.first + count)
            wrong += _told(name, pool.imap(attack, numbers, chunksize=4), verbose=asked.verbose)
    return 1 if wrong else 0


def _told(name: str, cases: Iterable[Case], *, verbose: bool) -> int:
    """Print how damaged files ended, and return how many did wrongly."""
    outcomes: Counter[str] = Counter()
    crashes: Counter[str] = Counter()
    leaked = wrong = readable = 0
    for case in cases:
        outcomes[case.outcome.value] += 1
        leaked += case.leaked
        wrong += case.is_wrong
        readable += bool(case.readable_by)
        if case.outcome is Outcome.CRASHED:
            crashes[case.detail.partition(":")[0]] += 1
        if case.is_wrong or verbose:
            print(
                f"{case.number}: {case.use}, {case.damage}: {case.outcome.value} {case.detail[:SHOWN]}, "
                f"{case.leaked} leaked, readable by others: {', '.join(case.readable_by) or 'none'}",
                file=sys.stderr,
                flush=True,
            )
    print(f"{name}: {outcomes.total()} damaged; {dict(sorted(outcomes.items()))}")
    print(f"  {crashes.total()} uncaught exceptions of {len(crashes)} types: {dict(crashes)}")
    print(f"  {leaked} connections leaked; {readable} with files that others may read", flush=True)
    return wrong


if __name__ == "__main__":
    sys.exit(main())
