"""Measures which tests run which lines, and how long each takes."""

from __future__ import annotations

import json
import multiprocessing
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.lab.mutation.operators import Mutant

Lines: TypeAlias = dict[str, dict[str, list[str]]]
# All quick tests of these folders, and the slow ones of those nearest to what is mutated.
MEASURED = (
    ("-m", "not slow", "tests/searchers", "tests/faults", "tests/execution", "tests/operators", "tests/trace",
     "tests/governance", "tests/study"),
    ("-m", "slow and not ray and not network", "tests/searchers", "tests/faults"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Baseline:
    """What the tests do where nothing is wrong.

    Attributes:
        seconds: How long each test takes that passes.
        lines: By file and line, the tests that run it.
    """

    seconds: Mapping[str, float]
    lines: Mapping[str, Mapping[str, Sequence[str]]]

    def covering(self, mutant: Mutant) -> list[str]:
        """Return the tests that run a mutant's statement, or its file if that is run by the import alone.

        Quick tests first, taken from one test file after the other, so that the first ones are not all alike.
        """
        lines = self.lines[mutant.path]
        tests = {test for line in mutant.lines for test in lines.get(str(line), ())}
        if not mutant.function or not tests:
            tests = {test for found in lines.values() for test in found}
        ranks: Counter[str] = Counter()
        ranked: list[tuple[int, float, str]] = []
        for test in sorted(tests, key=lambda test: (self.seconds[test], test)):
            file = test.partition("::")[0]
            ranked.append((ranks[file], self.seconds[test], test))
            ranks[file] += 1
        return [test for _, _, test in sorted(ranked)]


def baseline_of(files: Sequence[str], kept: Path) -> Baseline:
    """Measure the tests, or read what was measured before.

    Args:
        files: What is mutated, relative to the current folder.
        kept: Where it is kept.
    """
    if not kept.exists():
        seconds: dict[str, float] = {}
        lines: Lines = {path: {} for path in files}
        for arguments in MEASURED:
            ours, theirs = multiprocessing.Pipe()
            process = multiprocessing.get_context("fork").Process(target=_measure, args=(theirs, files, arguments))
            process.start()
            theirs.close()
            more_seconds, more_lines = ours.recv()
            process.join()
            seconds.update(more_seconds)
            for path, found in more_lines.items():
                for line, tests in found.items():
                    lines[path].setdefault(line, []).extend(tests)
        kept.write_text(json.dumps({"seconds": seconds, "lines": lines}), "utf-8")
    known = json.loads(kept.read_text("utf-8"))
    return Baseline(known["seconds"], known["lines"])


class Repeatable:
    """Plugin of pytest: has Hypothesis draw the same examples in each process, and not shrink them."""

    def pytest_sessionstart(self) -> None:
        from hypothesis import Phase, settings  # pytest warns if it is imported before its plugin

        phases = (Phase.explicit, Phase.generate)
        parent = settings.get_profile("unhurried")
        settings.register_profile("mutation", parent, phases=phases, derandomize=True, database=None)
        settings.load_profile("mutation")


def _measure(answer: Connection, files: Sequence[str], arguments: Sequence[str]) -> None:
    import coverage

    places = [str(Path(path).resolve()) for path in files]
    measured = coverage.Coverage(data_file=None, include=places, config_file=False)
    measuring = _Measuring(measured)
    measured.start()
    pytest.main(["-q", "-p", "no:cacheprovider", *arguments], plugins=[measuring])
    measured.stop()
    data, seconds = measured.get_data(), measuring.passed()
    lines = {
        path: {
            str(line): [test for test in sorted(tests) if test in seconds]
            for line, tests in sorted(data.contexts_by_lineno(place).items())
        }
        for path, place in zip(files, places, strict=True)
    }
    answer.send((seconds, lines))


class _Measuring(Repeatable):
    """Plugin of pytest: has coverage note which test runs a line."""

    def __init__(self, measured: object) -> None:
        self._measured = measured
        self._seconds: dict[str, float] = {}
        self._others: set[str] = set()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, None, None]:
        self._measured.switch_context(item.nodeid)  # type: ignore[attr-defined]  # a `coverage.Coverage`
        yield
        self._measured.switch_context("")  # type: ignore[attr-defined]  # a `coverage.Coverage`

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[report.nodeid] = self._seconds.get(report.nodeid, 0.0) + report.duration
        if report.outcome != "passed":
            self._others.add(report.nodeid)

    def passed(self) -> dict[str, float]:
        """Return how long each test took that passed, in seconds."""
        return {test: seconds for test, seconds in self._seconds.items() if test not in self._others}
