"""What pytest asks of a plug-in: options, markers, a fixture, collection, calls. The work is done in other modules."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import warnings

    from chaosagent.pytest_plugin.record_tests import RecordFile
    from chaosagent.pytest_plugin.single_run import Runner

SUFFIX, TEXT_SUFFIX = ".replay", ".accepted.toml"
FOLDERS, MODE, OUT = "chaosagent_replays", "chaosagent_mode", "chaosagent_out"
MODES = ("schedule", "exact", "both")
RECORD_TESTS = "chaosagent.pytest_plugin.record_tests"
REDACTION = "chaosagent.trace.redact"
RECORDS = pytest.StashKey[dict[Path, frozenset[Path]]]()
MARKERS = {
    "chaosagent(schedules=[...], random=N, search=N, **study)": "the test returns a target, which is run under these "
    "schedules, under N random ones, or in a search of at most N trials for each contract; other arguments are those "
    "of chaosagent.Study",
    "chaosagent_trials(threshold, trials=200, confidence=0.95)": "the test is run again and again until a sequential "
    "test knows whether it passes with at least that probability",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare options and settings."""
    parser.addini(FOLDERS, "folders whose *.replay files are tests, relative to the root folder", "linelist", [])
    parser.addini(MODE, f"how records are replayed: {', '.join(MODES)}", default="schedule")
    parser.addini(OUT, "where records of what tests find are written", default="chaosagent-out/pytest")
    group = parser.getgroup("chaosagent")
    group.addoption("--replay-mode", choices=MODES, help=f"how records are replayed, instead of `{MODE}`")


def pytest_configure(config: pytest.Config) -> None:
    """Declare markers, and check settings.

    Raises:
        UsageError: A setting is not allowed.
    """
    for marker, meaning in MARKERS.items():
        config.addinivalue_line("markers", f"{marker}: {meaning}")
    if config.getini(MODE) not in MODES:
        raise pytest.UsageError(f"{MODE} = {config.getini(MODE)!r}: it must be {', '.join(MODES)}.")
    for folder in config.getini(FOLDERS):
        if not (config.rootpath / folder).is_dir():
            raise pytest.UsageError(
                f"{FOLDERS}: {config.rootpath / folder} is no folder. Make it, as `chaosagent suite` does, or correct "
                "the setting."
            )
        if not any(next((config.rootpath / folder).rglob(f"*{suffix}"), None) for suffix in (SUFFIX, TEXT_SUFFIX)):
            raise pytest.UsageError(
                f"{FOLDERS}: {config.rootpath / folder} holds no record, so it tests nothing. Fill it with `chaosagent "
                "suite`, or take it out of the setting."
            )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> RecordFile | None:
    """Collect the records that are named, and those in folders that are named or configured.

    One of which only the text file is there is missed, and fails.
    """
    session = parent.session
    if file_path.name.endswith(TEXT_SUFFIX):
        file_path = file_path.with_name(file_path.name.removesuffix(TEXT_SUFFIX) + SUFFIX)
        if file_path.exists():
            return None
    elif file_path.suffix != SUFFIX:
        return None
    named = session.isinitpath(file_path) or session.isinitpath(file_path.parent)
    if not named and not any(file_path in _records_below(one, session) for one in _folders_of(file_path, session)):
        return None
    from chaosagent.pytest_plugin.record_tests import RecordFile

    return RecordFile.from_parent(parent, path=file_path)


@pytest.hookimpl(wrapper=True)
def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> Generator[None, bool | None, bool | None]:
    """Search such folders as `.new` and `build` too, where `chaosagent replay` finds records in them."""
    ignored = yield
    session = config.pluginmanager.get_plugin("session")
    patterns = config.getini("norecursedirs")
    if not ignored or session is None or not any(fnmatch(collection_path.name, pattern) for pattern in patterns):
        return ignored
    left_out = [*(config.getoption("ignore") or ()), *(config.getoption("ignore_glob") or ())]
    if any(fnmatch(str(collection_path), os.path.abspath(given)) for given in left_out):
        return ignored
    folders = _folders_of(collection_path, session)
    return not any(collection_path in path.parents for folder in folders for path in _records_below(folder, session))


def _folders_of(path: Path, session: pytest.Session) -> list[Path]:
    """Return the folders of records in which a path lies.

    They are configured, or were named and hold a record, or no Python: other folders that are named hold tests first.
    """
    config = session.config
    configured = [(config.rootpath / folder).resolve() for folder in config.getini(FOLDERS)]
    return [
        folder
        for folder in path.parents
        if (configured and folder.resolve() in configured)
        or (session.isinitpath(folder) and (any(folder.glob(f"*{SUFFIX}")) or not any(folder.rglob("*.py"))))
    ]


def _records_below(folder: Path, session: pytest.Session) -> frozenset[Path]:
    """Return the records below a folder, as `chaosagent replay` lists them, but only once in a session."""
    known = session.config.stash.setdefault(RECORDS, {})
    if folder not in known:
        from chaosagent.replays.store import records_below

        known[folder] = frozenset(records_below(folder))
    return known[folder]


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Run a marked test in its own way; whatever other plug-ins do to run a test, they do for each trial.

    Markers are read here and no earlier, as hooks and fixtures may add some until now.
    """
    own = item.runtest
    item.runtest = _way_of(item)  # type: ignore[method-assign]
    try:
        return (yield)
    finally:
        item.runtest = own  # type: ignore[method-assign]


def _way_of(item: pytest.Item) -> Callable[[], None]:
    """Return what runs a test."""
    marker = item.get_closest_marker("chaosagent")
    trials = item.get_closest_marker("chaosagent_trials")
    if marker is None and trials is None:
        return item.runtest
    said = _refused(item, marker, trials)
    if said or not isinstance(item, pytest.Function):
        return partial(pytest.fail, said, pytrace=False)
    if marker is not None:
        from chaosagent.pytest_plugin.target_tests import run_target_test

        return partial(run_target_test, item, marker)
    from chaosagent.pytest_plugin.trials import run_trials

    assert trials is not None, "one of the two markers is there"
    return partial(run_trials, item, item.runtest, trials)


def _refused(item: pytest.Item, marker: pytest.Mark | None, trials: pytest.Mark | None) -> str:
    """Return why a marked test cannot be run, empty where it can."""
    name = (marker or trials or item).name
    if marker is not None and trials is not None:
        return "chaosagent and chaosagent_trials do not go together: a target's runs are equal. Leave out one of them."
    if not isinstance(item, pytest.Function):
        return f"{item.name} is no test function, so it cannot be marked {name}. Mark functions and methods only."
    unittest = sys.modules.get("unittest")  # whoever defines such a class has imported it
    if unittest is not None and item.cls is not None and issubclass(item.cls, unittest.TestCase):
        return (
            f"{item.name} is a method of a unittest.TestCase, which catches its own failures, so it cannot be marked "
            f"{name}. Make it a function, or a method of a plain class."
        )
    return ""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Take the secrets of targets out of what pytest has captured of a test: prints, and lines of `logging`."""
    if REDACTION not in sys.modules:
        return
    from chaosagent.trace.redact import without_secrets

    report.sections = [(title, without_secrets(text)) for title, text in report.sections]


@pytest.hookimpl(tryfirst=True)
def pytest_warning_recorded(warning_message: warnings.WarningMessage) -> None:
    """Take the secrets of targets out of warnings, among them those of threads that crash."""
    if REDACTION not in sys.modules:
        return
    from chaosagent.trace.redact import without_secrets

    text = str(warning_message.message)
    shown = without_secrets(text)
    if shown != text:
        warning_message.message = shown


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """End the processes in which runs of records were repeated."""
    if RECORD_TESTS not in sys.modules:
        return
    from chaosagent.pytest_plugin.record_tests import REPLAYER

    replayer = session.config.stash.get(REPLAYER, None)
    if replayer is not None:
        replayer.close()


@pytest.fixture
def chaosagent_run() -> Runner:
    """Run a target once: `chaosagent_run(target, "service:payments[1] service.timeout")`."""
    from chaosagent.pytest_plugin.single_run import Runner

    return Runner()
