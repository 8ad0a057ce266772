"""How many executions a search needs on the planted targets: to a violation, to the minimum, to the certificate.

Run: python -m chaosagent.experiments.benchmarks.planted [--searcher NAME ...] [--family NAME ...] [--seeds 20]
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from chaosagent.clock import monotonic
from chaosagent.errors import ChaosAgentError, UnknownNameError, UsageError
from chaosagent.experiments.benchmarks.measuring import machine
from chaosagent.experiments.benchmarks.planted.catalogue import FAMILIES
from chaosagent.experiments.benchmarks.planted.engines.catalogue import ENGINES, check_installed, from_outside
from chaosagent.experiments.benchmarks.planted.family import KEPT
from chaosagent.experiments.benchmarks.planted.measuring import Cell, Subject, measure_all
from chaosagent.experiments.benchmarks.planted.plot import draw
from chaosagent.experiments.benchmarks.planted.random_agents import GROUPS
from chaosagent.experiments.benchmarks.planted.results import AGAINST, Measured, Results, load, merged, summary, table
from chaosagent.experiments.benchmarks.planted.rows import expanded
from chaosagent.study.searcher import SEARCHERS, Problem
from chaosagent.study.searcher_settings import check_settings

SEEDS = 20
CAP = 5_000
SECONDS_BETWEEN_LINES = 10.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, store and draw.

    Returns:
        0, whatever was found: this is a measurement. 2 or 4 for an error.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = _parser().parse_args(given)
    try:
        results = merged(load(path) for path in options.show) if options.show else _measured(options, given)
        print(f"{results.about}\n\n{table(results)}")
        compared = summary(results, options.against, outside=from_outside)
        if compared:
            print(f"\n{compared}")
        if options.csv:
            results.save(options.csv)
        if options.plot:
            draw(results, options.plot)
    except ChaosAgentError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


def _measured(options: argparse.Namespace, given: Sequence[str]) -> Results:
    _check_numbers(options)
    subjects = [_subject(name, options) for name in options.searcher]
    families = [family for name in options.family or FAMILIES for family in expanded(name)]
    cells = [
        Cell(family, subject, seed, options.cap)
        for family in families
        for subject in subjects
        for seed in range(options.seeds if family in FAMILIES else 1)
    ]
    measured: list[Measured] = []
    begun = said = monotonic()
    for cell, reached in measure_all(cells, options.jobs):
        measured.append(Measured(cell.family, cell.subject.title, cell.seed, cell.cap, reached))
        if monotonic() - said >= SECONDS_BETWEEN_LINES:
            said = monotonic()
            print(f"{len(measured)} of {len(cells)}, {said - begun:.0f} s", file=sys.stderr, flush=True)
    command = f"python -m chaosagent.experiments.benchmarks.planted {shlex.join(given)}".rstrip()
    return Results(f"{machine()}; {command}", tuple(measured))


def _check_numbers(options: argparse.Namespace) -> None:
    for option in ("seeds", "cap", "jobs", "lookahead"):
        value = getattr(options, option)
        if value < 1:
            raise UsageError(f"--{option} {value}: it must be at least 1.")


def _subject(name: str, options: argparse.Namespace) -> Subject:
    if name in ENGINES:
        check_installed(name)
        return Subject(name)
    if name not in SEARCHERS:
        raise UnknownNameError("searcher or engine", name, [*SEARCHERS, *ENGINES], "--searcher")
    settings = dict(_setting(text) for text in options.set)
    _check_settings(name, settings)
    return Subject(name, not options.no_checkpoints, options.lookahead, settings)


def _check_settings(name: str, settings: Mapping[str, bool | int | float | str]) -> None:
    """Check settings before anything is measured.

    Raises:
        UsageError: The searcher has no such setting, or refuses its value.
    """
    factory = SEARCHERS.get(name, "--searcher")
    check_settings(name, factory, settings, lambda _: "--set")
    planted = next(iter(FAMILIES.values())).planted(0)
    factory(Problem(KEPT.id, 0, planted.space, planted.budget, 0), **settings)


def _setting(text: str) -> tuple[str, bool | int | float | str]:
    key, sign, written = text.partition("=")
    try:
        value = json.loads(written)
    except json.JSONDecodeError:
        value = written
    if not sign or not isinstance(value, bool | int | float | str):
        raise UsageError(f"--set {text!r}: write KEY=VALUE with a number, true, false or a word, such as r3=false.")
    return key, value


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m chaosagent.experiments.benchmarks.planted",
        description="Count executions to the first violation, to the true minimum and to the certificate.",
        epilog=f"Engines: {', '.join(ENGINES)}. Families: {', '.join(FAMILIES)}; random agents: {', '.join(GROUPS)}.",
    )
    parser.add_argument("--searcher", nargs="+", default=["exact"], metavar="NAME", help="searchers and engines")
    parser.add_argument("--family", nargs="+", metavar="NAME", help="families or groups of random agents")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="layouts and search seeds, from 0 on")
    parser.add_argument("--cap", type=int, default=CAP, help="most executions of one search")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes; the result does not depend on it")
    parser.add_argument("--lookahead", type=int, default=1, help="trials in flight of a searcher")
    parser.add_argument("--no-checkpoints", action="store_true", help="targets without checkpoints: no rule R3")
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help="settings of the searchers")
    parser.add_argument("--against", default=AGAINST, metavar="NAME", help="searcher that others are compared with")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="store the measurements")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw them, as PNG, SVG or PDF")
    parser.add_argument("--show", nargs="+", type=Path, metavar="FILE", help="print stored measurements; run nothing")
    return parser


if __name__ == "__main__":
    sys.exit(main())
