"""Replay records as tests: a record that holds passes, one that is known and open is expected to fail."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from chaosagent.api.replays.replayed import SOUND, ReplayedRecord, Standing, is_explained, meaning_of, warning_of
from chaosagent.api.replays.replaying import OptionNames, Replayer, StoredRecord
from chaosagent.api.target_output import target_output_to_stderr
from chaosagent.errors import ChaosAgentError

REPLAYER = pytest.StashKey[Replayer]()
"""Shared by the records of a session, as several need the same run without faults and the same processes."""

WORDS = OptionNames(target="`chaosagent replay --target`", config="`chaosagent replay --config`")


class FailedReplayError(Exception):
    """What is said of a record that does not hold."""


class RecordFile(pytest.File):
    """A replay record."""

    def collect(self) -> Iterator[RecordTest]:
        """Yield its one test."""
        yield RecordTest.from_parent(self, name="replay")


class RecordTest(pytest.Item):
    """A record is replayed."""

    def runtest(self) -> None:
        """Replay the record.

        Raises:
            FailedReplayError: It does not hold, and nobody expects that.
        """
        config = self.config
        mode = config.getoption("replay_mode") or config.getini("chaosagent_mode")
        with contextlib.chdir(config.rootpath):  # records name their target relative to it, wherever pytest was started
            if REPLAYER not in config.stash:
                config.stash[REPLAYER] = Replayer(mode=mode, words=WORDS)
            with target_output_to_stderr(descriptors=False):  # what it declares to be secret is in no report
                reruns = config.stash[REPLAYER].replay(StoredRecord(self.path))
        for one in reruns:
            self.add_report_section("call", f"replay ({one.replay.mode})", _told(one))
            if warning := warning_of(one):
                warnings.warn(pytest.PytestWarning(warning), stacklevel=1)
        bad = [one for one in reruns if not _is_well(one) and not is_explained(one, reruns)]
        known = [one for one in bad if one.standing is Standing.KNOWN]
        if len(bad) > len(known):
            raise FailedReplayError("\n\n".join(map(_complaint, bad)))
        if known:
            pytest.xfail(_told(known[0]))
            raise FailedReplayError(_told(known[0]))  # with --runxfail, xfail does nothing

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return what is said of a failure."""
        if isinstance(excinfo.value, FailedReplayError | ChaosAgentError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """Return where it is, and what it is called."""
        return self.path, None, f"{self.path.name}: {self.name}"


def _is_well(one: ReplayedRecord) -> bool:
    return one.replay.outcome in SOUND


def _told(one: ReplayedRecord) -> str:
    meaning = meaning_of(one)
    told = f"{one.replay.outcome.value}: {one.replay.detail}"
    return "; ".join([told, *one.replay.notes, *([meaning] if meaning else [])])


def _complaint(one: ReplayedRecord) -> str:
    """Return what failed, and the story of the record."""
    if one.record is None:
        return _told(one)
    from chaosagent.report.recordings import record_story

    story = record_story(one.record, one.path).text().rstrip()
    return f"{_told(one)}\n\nWhat was recorded:\n\n{story}"
