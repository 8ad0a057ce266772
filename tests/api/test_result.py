"""What a result shows, and that nothing in it can act on a notebook or a terminal."""

from __future__ import annotations

import io
import pickle
import sys
import types
from pathlib import Path

import pytest
from rich.console import Console

import chaosagent

EVIL = "<script>alert('x')</script>\x1b[31m"


@chaosagent.target(tasks=[chaosagent.Task(EVIL)])
async def talker(task: chaosagent.Task, run: chaosagent.Run) -> chaosagent.Outcome:  # noqa: ARG001
    mail = run.service("mail", {"send": lambda text: text}, effects={"send": chaosagent.effect("text")})
    try:
        await mail("send", text=EVIL)
    except chaosagent.StatusError:
        await mail("send", text=EVIL)
        await mail("send", text=EVIL)
    return chaosagent.Outcome(EVIL, success=True)


@pytest.fixture(scope="module")
def result() -> chaosagent.StudyResult:
    @chaosagent.contract("evil")
    def evil(step: object) -> str | bool:
        return EVIL if getattr(step, "landed", None) is not None else True

    return chaosagent.search(chaosagent.Study(talker, contracts=[evil], operators=["service.error_status"], budget=1.2))


def test_agent_text_is_escaped_in_html(result: chaosagent.StudyResult) -> None:
    (found,) = result.counterexamples
    replayed, checked = chaosagent.replay(result, target=talker), chaosagent.check(result, ["at-most-once"])

    for shown in (result, found, replayed, checked):
        html = shown._repr_html_()
        assert "<script" not in html
        assert "\x1b" not in html
    assert "&lt;script&gt;" in result._repr_html_()
    assert "&lt;script&gt;" in found._repr_html_()


def test_agent_text_does_nothing_to_a_terminal(result: chaosagent.StudyResult) -> None:
    console = Console(file=io.StringIO(), width=100, force_terminal=False)

    console.print(result, result.counterexamples[0])

    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    assert "\x1b" not in shown + str(result) + repr(result) + repr(result.counterexamples[0])
    assert "\\x1b[31m" in shown
    assert max(map(len, shown.splitlines())) <= 100


def test_to_frame_without_pandas_is_a_list_of_mappings(
    result: chaosagent.StudyResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)

    trials, found, proved = (result.to_frame(of) for of in ("trials", "counterexamples", "certificates"))

    assert [row["number"] for row in trials] == [trial.number for trial in result.trials]
    assert [(row["contract"], row["cost"]) for row in found] == [("evil", result.counterexamples[0].cost)]
    assert [row["contract"] for row in proved] == ["evil"]
    with pytest.raises(chaosagent.UsageError, match=r"to_frame\(of='runs'\): there are the tables 'trials'"):
        result.to_frame("runs")  # type: ignore[arg-type]  # the test


def test_to_frame_with_pandas_is_a_data_frame(result: chaosagent.StudyResult, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = types.ModuleType("pandas")
    fake.DataFrame = lambda rows: ("frame", rows)  # type: ignore[attr-defined]  # a fake
    monkeypatch.setitem(sys.modules, "pandas", fake)

    kind, rows = result.to_frame()

    assert kind == "frame"
    assert len(rows) == len(result.trials)


def test_a_result_can_be_pickled_although_its_target_cannot(result: chaosagent.StudyResult) -> None:
    again = pickle.loads(pickle.dumps(result))

    assert again == result
    assert (again.trials, str(again)) == (result.trials, str(result))


def test_a_violation_is_no_proof(result: chaosagent.StudyResult) -> None:
    assert result.violated
    assert not result.proved
    assert all(isinstance(one, chaosagent.Certificate) for one in result.certificates)
    assert repr(result).startswith("<StudyResult ")


def test_the_trials_of_a_folder_that_holds_another_study_by_now_are_refused(
    tmp_path: Path, result: chaosagent.StudyResult
) -> None:
    study = chaosagent.Study(talker, contracts=["no-crash"], operators=["service.error_status"], budget=0)
    kept = chaosagent.search(study, out=tmp_path)
    chaosagent.search(study, out=tmp_path)

    with pytest.raises(chaosagent.UsageError, match="holds another study by now"):
        _ = kept.trials
    assert result.trials
