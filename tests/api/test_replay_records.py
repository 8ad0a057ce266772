"""`chaosagent.replay` takes results, counterexamples, records and paths."""

from __future__ import annotations

import contextlib
import dataclasses
from pathlib import Path

import pytest

import chaosagent


@chaosagent.target
async def desk(task: chaosagent.Task, run: chaosagent.Run) -> chaosagent.Outcome:  # noqa: ARG001
    await run.service("clock", {"now": lambda: 1})("now")
    return chaosagent.Outcome("done", success=True)


@chaosagent.target(name="desk")
async def mended(task: chaosagent.Task, run: chaosagent.Run) -> chaosagent.Outcome:  # noqa: ARG001
    with contextlib.suppress(TimeoutError):
        await run.service("clock", {"now": lambda: 1})("now")
    return chaosagent.Outcome("done", success=True)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> chaosagent.StudyResult:
    study = chaosagent.Study(desk, contracts=["no-crash"], operators=["service.timeout"], budget=1.2)
    return chaosagent.search(study, out=tmp_path_factory.mktemp("study"))


def test_every_kind_of_record_is_replayed(kept: chaosagent.StudyResult) -> None:
    (found,) = kept.counterexamples
    assert found.path is not None
    assert kept.folder is not None

    for result in (
        chaosagent.replay(kept, target=desk),
        chaosagent.replay(found, target=desk),
        chaosagent.replay(found.record, target=desk),
        chaosagent.replay(found.path, target=desk),
        chaosagent.replay(str(kept.folder), target=desk),
        chaosagent.replay([found, kept.folder], target=desk),
    ):
        assert set(result.totals) == {"VIOLATED"}
        assert (result.held, result.exit_code) == (False, 1)
    assert [row["outcome"] for row in chaosagent.replay(kept, target=desk, mode="exact").to_frame()] == ["REPRODUCED"]


def test_a_fixed_target_holds(kept: chaosagent.StudyResult) -> None:
    result = chaosagent.replay(kept, target=mended, mode="both")

    assert result.held
    assert sorted(one.replay.outcome.value for one in result) == ["DIVERGED", "HELD"]


def test_a_target_that_only_this_process_has_is_not_repeated_elsewhere(kept: chaosagent.StudyResult) -> None:
    (replay,) = chaosagent.replay(kept, target=dataclasses.replace(mended))

    assert replay.replay.outcome.value == "HELD"
    assert "not repeated in a process of its own, as target 'desk' has no name" in replay.replay.notes[-1]


def test_what_is_not_allowed_is_refused(kept: chaosagent.StudyResult, tmp_path: Path) -> None:
    with pytest.raises(chaosagent.UsageError, match=r"replay\(mode=...\): unknown mode 'exakt'.*'exact'"):
        chaosagent.replay(kept, mode="exakt")  # type: ignore[arg-type]  # the test
    with pytest.raises(chaosagent.UsageError, match=r"replay\(draws=0\): draws must be a whole number from 1"):
        chaosagent.replay(kept, draws=0)
    with pytest.raises(chaosagent.UsageError, match="written next to a record, and some of these have no file"):
        chaosagent.replay(kept.counterexamples[0].record, write="accept")
    with pytest.raises(chaosagent.UsageError, match=r"has no \*\.replay file"):
        chaosagent.replay(tmp_path)
    with pytest.raises(chaosagent.UsageError, match="give the result of a search"):
        chaosagent.replay(3)  # type: ignore[arg-type]  # the test


def test_nothing_replayed_is_not_held() -> None:
    assert not chaosagent.replay([]).held
