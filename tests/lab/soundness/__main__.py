"""Compares random programs with brute force: `python -m tests.lab.soundness --programs 10000`."""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import sys
from functools import partial

from tests.lab.soundness import particular
from tests.lab.soundness.attack import RUNS_MAX, STATES_MAX, Report, compare
from tests.lab.soundness.forgetful import HIDING_PLACES, Forgetful, search
from tests.lab.soundness.random_programs import random_case
from tests.lab.soundness.strange_operators import registered


def _one(seed: int, *, strange_every: int, states_max: int, runs_max: int) -> Report:
    report = Report()
    with registered():
        strange = bool(strange_every) and seed % strange_every == 0
        compare(random_case(seed, strange=strange), report, seed, states_max=states_max, runs_max=runs_max)
    return report


def main() -> int:
    """Compare programs, and print what was wrong; exit code 1 if anything was."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=multiprocessing.cpu_count())
    parser.add_argument("--strange-every", type=int, default=3, help="every so many-th has a stranger's operator")
    parser.add_argument("--states", type=int, default=STATES_MAX, help="how many final states of each are searched for")
    parser.add_argument("--runs", type=int, default=RUNS_MAX, help="programs with more schedules are passed over")
    parser.add_argument("--forgetful", type=int, default=0, help="instead: agents with incomplete checkpoints")
    parser.add_argument("--particular", type=int, default=0, help="instead: agents that mind exactly certain faults")
    asked = parser.parse_args()
    if asked.forgetful:
        return _forgetful(asked.first, asked.forgetful)
    if asked.particular:
        return _particular(asked.first, asked.particular)
    total = Report()
    seeds = range(asked.first, asked.first + asked.programs)
    with multiprocessing.Pool(asked.jobs) as pool:
        reports = pool.imap(
            partial(_one, strange_every=asked.strange_every, states_max=asked.states, runs_max=asked.runs),
            seeds,
            chunksize=4,
        )
        for number, report in enumerate(reports, 1):
            _add(total, report)
            for seed, wrongs in report.wrong.items():
                print(f"seed {seed}: {len(wrongs)} wrong, such as {wrongs[0]}", flush=True)
            if number % 100 == 0:
                print(f"{number} of {asked.programs}, {len(total.wrong)} wrong", file=sys.stderr, flush=True)
    print(f"{total.programs} programs compared, {total.too_large} too large, {total.searches} searches")
    print(f"programs with a wrong search: {len(total.wrong)}")
    for label, count in total.executions.items():
        print(f"  {label}: {count} executions")
    return 1 if total.wrong else 0


def _forgetful(first: int, count: int) -> int:
    """Print how often the audit missed that checkpoints are incomplete; exit code 1 if it ever did."""
    missed = 0
    for searcher, size in itertools.product(("exact", "anytime"), (2, 3)):
        cases = [Forgetful(first + number, size, place) for number in range(count) for place in HIDING_PLACES]
        found = [search(case, searcher) for case in cases]
        wrong = sum(one.is_wrong for one in found)
        caught = sum(one.is_caught for one in found)
        print(f"{searcher}, {size} faults: {len(cases)} agents, {caught} caught, {wrong} wrong proofs", flush=True)
        missed += wrong
    return 1 if missed else 0


def _particular(first: int, count: int) -> int:
    """Print how often the audit missed agents that mind exactly certain faults; exit code 1 if it ever did."""
    missed = 0
    for searcher, (size, pays) in itertools.product(("exact", "anytime"), ((2, False), (3, False), (2, True))):
        cases = [
            particular.Particular(first + number, size, place, pays)
            for number in range(count)
            for place in particular.HIDING_PLACES
        ]
        found = [particular.search(case, searcher) for case in cases]
        wrong = sum(one.is_wrong for one in found)
        faults = f"{size} faults{' and a failed payment' if pays else ''}"
        print(f"{searcher}, exactly {faults}: {len(cases)} agents, {wrong} wrong proofs", flush=True)
        missed += wrong
    return 1 if missed else 0


def _add(total: Report, one: Report) -> None:
    total.programs += one.programs
    total.too_large += one.too_large
    total.searches += one.searches
    for label, count in one.executions.items():
        total.executions[label] = total.executions.get(label, 0) + count
    total.wrong.update(one.wrong)


if __name__ == "__main__":
    sys.exit(main())
