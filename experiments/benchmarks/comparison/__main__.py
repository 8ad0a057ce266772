"""Compare searchers on every (configuration, task, contract) of study files, at equal executions.

Run: python -m chaosagent.experiments.benchmarks.comparison STUDY.yaml ... [--searcher NAME ...] [--limit 300]
     [--together]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from chaosagent.clock import monotonic
from chaosagent.errors import ChaosAgentError, UsageError
from chaosagent.experiments.benchmarks.comparison.plot import draw
from chaosagent.experiments.benchmarks.comparison.results import Compared, Found, load, table
from chaosagent.experiments.benchmarks.comparison.searching import search_all, searches_of
from chaosagent.experiments.benchmarks.measuring import each, machine
from chaosagent.study.searcher import SEARCHERS

DEFAULT = ("anytime", "exact", "random", "evolutionary")
LIMIT = 300
SECONDS_BETWEEN_LINES = 10.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Search, print, store and draw.

    Returns:
        0, whatever is found: this is a measurement. 2 or 4 for an error.
    """
    options = _parser().parse_args(arguments)
    try:
        if not options.show and not options.study:
            raise UsageError("comparison: nothing to do. Name study files, or stored searches with --show FILE.")
        compared = load(options.show) if options.show else _compared(options)
        print(f"{compared.about}\n\n{table(compared)}")
        if options.csv:
            compared.save(options.csv)
        if options.plot:
            draw(compared, options.plot)
    except ChaosAgentError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


def _compared(options: argparse.Namespace) -> Compared:
    for name in options.searcher:
        SEARCHERS.get(name, "--searcher")
    listed = [
        searches
        for path in options.study
        for searches in searches_of(
            path,
            options.searcher,
            options.limit,
            budget=options.budget,
            seed=options.seed,
            together=options.together,
        )
    ]
    found: list[Found] = []
    said = monotonic()
    for number, more in enumerate(each(search_all, listed, options.jobs), 1):
        found += more
        if monotonic() - said >= SECONDS_BETWEEN_LINES:
            said = monotonic()
            print(f"{number} of {len(listed)} tasks in a configuration", file=sys.stderr, flush=True)
    studies = " ".join(path.name for path in options.study)
    return Compared(
        f"{machine()}; {studies}, seed {options.seed}, at most {options.limit} executions for "
        + ("all contracts of a task" if options.together else "each contract of a task"),
        options.limit,
        tuple(found),
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m chaosagent.experiments.benchmarks.comparison",
        description="Compare searchers on every (configuration, task, contract) of study files, at equal executions.",
    )
    parser.add_argument("study", type=Path, nargs="*", metavar="STUDY.yaml", help="study files; their targets differ")
    parser.add_argument("--searcher", nargs="+", default=list(DEFAULT), metavar="NAME", help="who searches")
    parser.add_argument("--limit", type=int, default=LIMIT, help="most executions of one study")
    parser.add_argument(
        "--together",
        action="store_true",
        help="search all contracts of a task in one study, as chaosagent search does, and not each in one of its own",
    )
    parser.add_argument("--budget", type=float, help="search schedules up to this cost; that of the file when left out")
    parser.add_argument("--seed", type=int, default=0, help="of the random choices of the searchers (0)")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes; only the seconds depend on it")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="store what was found")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw it, as SVG, PNG or PDF")
    parser.add_argument("--show", type=Path, metavar="FILE", help="print and draw what was stored; search nothing")
    return parser


if __name__ == "__main__":
    sys.exit(main())
