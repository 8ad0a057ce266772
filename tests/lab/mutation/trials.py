"""Tries mutants: pytest collects the tests once, and a fork of it runs those that cover a mutant until one fails.

Nothing is changed on disk. A mutant inside a function replaces the code of that function in its fork. One that only the
import runs, such as a default, needs a process that has not imported anything yet.
"""

from __future__ import annotations

import contextlib
import gc
import importlib.machinery
import multiprocessing
import os
import resource
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import CodeType, FunctionType
from typing import NoReturn, TypeAlias

import pytest

from tests.lab.mutation.baseline import Baseline, Repeatable
from tests.lab.mutation.operators import Mutant

FIRST_TESTS_MAX = 25
REST_SECONDS_MAX = 15.0
TIMES_NOMINAL_MAX = 10
SECONDS_MORE = 10.0
UNMEASURED_SECONDS = 30.0
MEMORY_BYTES_MAX = 6 * 2**30
FORK = multiprocessing.get_context("fork")
Change: TypeAlias = tuple[FunctionType, CodeType]


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a mutant.

    Attributes:
        key: Of the mutant.
        outcome: `killed`, `timeout` or `survived`.
        by: The test that failed, or took too long.
        tried: How many tests were run.
        left_out: How many that cover it were not run, as they take too long.
    """

    key: str
    outcome: str
    by: str
    tried: int
    left_out: int


def try_all(
    mutants: Sequence[Mutant],
    baseline: Baseline,
    record: Callable[[Result], None],
    *,
    jobs: int,
    files_more: Mapping[str, Sequence[str]],
) -> None:
    """Try mutants, and pass on what came of each.

    Args:
        mutants: The code that they are in is not imported yet.
        baseline: What the tests do without them.
        record: Called with each result.
        jobs: How many mutants are tried at the same time.
        files_more: By the file of a mutant, test files of which all quick tests are run, measured or not.
    """
    for mutant in mutants:
        if not mutant.function:
            ours, theirs = multiprocessing.Pipe(duplex=False)
            process = FORK.Process(target=_import_and_try, args=(mutant, baseline, theirs, files_more))
            process.start()
            theirs.close()
            with contextlib.suppress(EOFError):  # what cannot be imported fails
                record(ours.recv())
                process.join()
                continue
            process.join()
            record(Result(mutant.key, "killed", "the import", 0, 0))
    inside = [mutant for mutant in mutants if mutant.function]
    if inside:
        _session(Trials(inside, baseline, record, jobs=jobs, files_more=files_more))


def _import_and_try(
    mutant: Mutant, baseline: Baseline, answer: Connection, files_more: Mapping[str, Sequence[str]]
) -> None:
    """Try a mutant that the import runs."""
    place, found = str(Path(mutant.path).resolve()), importlib.machinery.SourceFileLoader.get_code
    code = compile(mutant.applied(Path(place).read_bytes()), place, "exec")

    def get_code(self: importlib.machinery.SourceFileLoader, fullname: str) -> CodeType | None:
        return code if os.path.realpath(self.path) == place else found(self, fullname)

    importlib.machinery.SourceFileLoader.get_code = get_code  # type: ignore[assignment, method-assign]  # for this process alone
    _session(Trials([mutant], baseline, answer.send, jobs=1, files_more=files_more))


def _session(trials: Trials) -> None:
    arguments = ["-q", "-s", "--no-header", "--tb=no", "-p", "no:cacheprovider"]
    pytest.main([*arguments, *trials.files], plugins=[trials])


@dataclass(slots=True)
class _Trial:
    """A mutant that is tried now, in a fork of this process."""

    mutant: Mutant
    process_id: int
    tests: Sequence[str]
    left_out: int
    deadline: float
    tried: int = 0

    def ended(self, outcome: str, by: str = "") -> Result:
        """Return the result."""
        return Result(self.mutant.key, outcome, by, self.tried, self.left_out)


class Trials(Repeatable):
    """Plugin of pytest that tries mutants instead of running all tests.

    Args:
        mutants: What is tried; one that the import runs stands there already.
        baseline: What the tests do without them.
        record: Called with each result.
        jobs: How many are tried at the same time.
        files_more: By the file of a mutant, test files of which all quick tests are run.
    """

    def __init__(
        self,
        mutants: Sequence[Mutant],
        baseline: Baseline,
        record: Callable[[Result], None],
        *,
        jobs: int,
        files_more: Mapping[str, Sequence[str]],
    ) -> None:
        self._mutants, self._baseline, self._record, self._jobs = mutants, baseline, record, jobs
        self._files_more = {mutant.path: files_more.get(mutant.path, ()) for mutant in mutants}
        self._chosen = {mutant.key: self._choose(mutant) for mutant in mutants}
        self._open: dict[Connection, _Trial] = {}
        self._failed = ""

    @property
    def files(self) -> list[str]:
        """The test files that are needed."""
        measured = {test.partition("::")[0] for tests, _ in self._chosen.values() for test in tests}
        return sorted(measured.union(*self._files_more.values()))

    def _choose(self, mutant: Mutant) -> tuple[list[str], int]:
        """Return the tests that are run, and how many others cover a mutant."""
        covering = self._baseline.covering(mutant)
        chosen, seconds_left = covering[:FIRST_TESTS_MAX], REST_SECONDS_MAX
        for test in covering[FIRST_TESTS_MAX:]:
            seconds_left -= self._baseline.seconds[test]
            if seconds_left > 0:
                chosen.append(test)
        return chosen, len(covering) - len(chosen)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.outcome == "failed" and not self._failed:
            self._failed = report.nodeid

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Try each mutant in a fork, which sends the number of each test before it runs it."""
        if session.testsfailed:
            assert not self._mutants[0].function, "some tests cannot be collected"
            self._record(Result(self._mutants[0].key, "killed", "the import", 0, 0))
            return True
        items = {item.nodeid: item for item in session.items}
        waiting = iter(self._mutants)
        while True:
            while len(self._open) < self._jobs and (mutant := next(waiting, None)) is not None:
                self._begin(mutant, items)
            if not self._open:
                return True
            self._hear()

    def _begin(self, mutant: Mutant, items: Mapping[str, pytest.Item]) -> None:
        tests, left_out = self._chosen[mutant.key]
        known = [test for test in tests if test in items]
        left_out += len(tests) - len(known)
        more = [
            test for test in items if test not in tests and test.partition("::")[0] in self._files_more[mutant.path]
        ]
        known = [*(test for test in more if items[test].get_closest_marker("slow") is None), *known]
        changes = changes_of(mutant) if mutant.function else []
        ours, theirs = multiprocessing.Pipe(duplex=False)
        process_id = os.fork()
        if not process_id:
            self._run(changes, [items[test] for test in known], theirs)
        theirs.close()
        deadline = time.monotonic() + SECONDS_MORE
        self._open[ours] = _Trial(mutant, process_id, known, left_out, deadline)

    def _hear(self) -> None:
        """Wait for messages, and end what is over or takes too long."""
        first = min(trial.deadline for trial in self._open.values())
        ready = wait(list(self._open), max(0.0, first - time.monotonic()))
        for ours, trial in list(self._open.items()):
            result = None
            if ours in ready:
                result = self._take(ours, trial)
            elif trial.deadline <= time.monotonic():
                result = trial.ended("timeout", trial.tests[trial.tried - 1] if trial.tried else "")
            if result is not None:
                del self._open[ours]
                _end(trial.process_id)
                self._record(result)

    def _take(self, ours: Connection, trial: _Trial) -> Result | None:
        """Take a message; return the result if it is the last one."""
        try:
            message: int | str = ours.recv()
        except EOFError:
            return trial.ended("killed", "the process ended")
        if isinstance(message, str):
            return trial.ended("killed" if message else "survived", message)
        trial.tried = message + 1
        nominal = self._baseline.seconds.get(trial.tests[message], UNMEASURED_SECONDS)
        trial.deadline = time.monotonic() + SECONDS_MORE + TIMES_NOMINAL_MAX * nominal
        return None

    def _run(self, changes: Sequence[Change], items: Sequence[pytest.Item], answer: Connection) -> NoReturn:
        """Run tests in the fork until one fails."""
        try:
            os.setsid()
            nowhere = os.open(os.devnull, os.O_RDWR)
            for descriptor in (0, 1, 2):
                os.dup2(nowhere, descriptor)
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))
            for function, code in changes:
                function.__code__ = code
            for number, item in enumerate(items):
                answer.send(number)
                following = items[number + 1] if number + 1 < len(items) else None
                item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
                if self._failed:
                    break
            answer.send(self._failed)
        except BaseException as error:  # whatever it is, the tests have noticed the mutant
            answer.send(type(error).__name__)
        finally:
            os._exit(0)


def changes_of(mutant: Mutant) -> list[Change]:
    """Return the functions of this process that a mutant changes, and the code that it gives to each."""
    place = Path(mutant.path).resolve()
    mutated = compile(mutant.applied(place.read_bytes()), str(place), "exec")
    codes = {(code.co_qualname, code.co_firstlineno): code for code in _codes(mutated)}
    found = [function for function in gc.get_objects() if _is_of(function, place, mutant.function)]
    changes = [(function, codes[mutant.function, function.__code__.co_firstlineno]) for function in found]
    changes = [(function, code) for function, code in changes if function.__code__ != code]
    assert changes, f"{mutant.key} is in no function that is imported"
    return changes


def _is_of(candidate: object, place: Path, name: str) -> bool:
    if type(candidate) is not FunctionType or candidate.__code__.co_qualname != name:
        return False
    return Path(candidate.__code__.co_filename).resolve() == place


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Return the code of all functions in some code."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


def _end(process_id: int) -> None:
    """End a fork and what it started."""
    for end in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError):
            end(process_id, signal.SIGKILL)
    os.waitpid(process_id, 0)
