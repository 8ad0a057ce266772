"""`chaosagent.search` in scripts, in a running loop, with workers, and what it keeps."""

from __future__ import annotations

import asyncio
import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest

import chaosagent
from chaosagent.cli.main import main

SHORT: dict[str, Any] = {"budget": 1.2, "contracts": ["at-most-once"], "operators": ["service.delay"]}
FIFTEEN_LINES = """
import chaosagent
from agent import agent

study = chaosagent.Study(agent, budget=1.2, operators=["service.delay"])
result = chaosagent.search(study, out="kept")
print(result)
for found in result.counterexamples:
    print(found)
print("certified:", [found.certified for found in result.counterexamples])
print("replayed:", chaosagent.replay(result).totals, chaosagent.replay(result, mode="exact").totals)
print("loaded:", chaosagent.load("kept").trials == result.trials)
"""
Clock = Literal["virtual", "wall"]


def shop(clock: Clock = "virtual") -> chaosagent.Target:
    """Return a target that pays twice when its first answer is late; no module holds it."""

    @chaosagent.target(name="shop", clock=clock)
    async def target(task: chaosagent.Task, run: chaosagent.Run) -> chaosagent.Outcome:  # noqa: ARG001
        paid: list[int] = []
        payments = run.service(
            "payments", {"refund": lambda: paid.append(1)}, effects={"refund": chaosagent.effect(kind="refund")}
        )
        for _ in range(2):
            try:
                async with asyncio.timeout(30 if clock == "virtual" else 0.001):
                    await payments("refund")
                break
            except TimeoutError:
                pass
        return chaosagent.Outcome("done", success=True)

    return target


@pytest.mark.slow
def test_a_script_without_a_guard_does_what_the_first_example_does(python: Callable[..., Any], folder: Path) -> None:
    (folder / "script.py").write_text(FIFTEEN_LINES)

    done = python("script.py")

    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    for expected in (
        "service:payments[1] service.delay(seconds=60.0)",
        "One fault (cost 1.05) is enough",
        "certified: [True]",
        "replayed: {'VIOLATED': 1} {'REPRODUCED': 1}",
        "loaded: True",
    ):
        assert expected in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("options", ["", ", workers=2"])
def test_a_script_may_hold_its_target_and_search_without_a_guard(
    python: Callable[..., Any], folder: Path, options: str
) -> None:
    script = (folder / "agent.py").read_text() + (
        f"study = chaosagent.Study(agent, budget=1.2, operators=['service.delay'])\n"
        f"result = chaosagent.search(study{options})\n"
        "print(len(result.counterexamples), result.remarks, 'processes of their own' in str(result))\n"
    )
    (folder / "script.py").write_text(script)

    done = python("script.py")

    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["1 () True"]), done.stderr


@pytest.mark.slow
def test_a_target_behind_the_first_search_of_a_script_is_refused_with_the_remedy(
    python: Callable[..., Any], folder: Path
) -> None:
    agent = (folder / "agent.py").read_text()
    search = "chaosagent.search(chaosagent.Study({}, budget=0))\n"
    (folder / "script.py").write_text(
        agent + search.format("agent") + agent.replace("def agent", "def second") + search.format("second")
    )

    done = python("script.py")

    assert done.returncode != 0
    assert "script.py has no 'second'" in done.stderr
    assert "define everything that is searched above that" in done.stderr


@pytest.mark.slow
def test_workers_refuse_what_they_cannot_import_in_one_sentence(python: Callable[..., Any], folder: Path) -> None:
    code = (folder / "agent.py").read_text() + (
        "try:\n    chaosagent.search(chaosagent.Study(agent), workers=2)\n"
        "except chaosagent.UsageError as error:\n    print(error)\n"
    )

    done = python("-c", code)

    assert (done.returncode, done.stderr) == (0, "")
    assert "target 'agent' stands in the running program" in done.stdout
    assert "Put it at the top level of a module, such as agent.py" in done.stdout


def test_inline_and_workers_contradict_each_other(folder: Path) -> None:
    with pytest.raises(chaosagent.UsageError, match="inline means in this process, so there are no workers"):
        chaosagent.search(chaosagent.Study(shop(), **SHORT), executor="inline", workers=2)
    with pytest.raises(chaosagent.UsageError, match=r"search\(workers=0\): workers must be a whole number from 1"):
        chaosagent.search(chaosagent.Study(shop(), **SHORT), workers=0)
    with pytest.raises(chaosagent.UsageError, match=r"search\(executor=...\): unknown executor 'proces'.*'process'"):
        chaosagent.search(chaosagent.Study(shop(), **SHORT), executor="proces")  # type: ignore[arg-type]  # the test
    with pytest.raises(chaosagent.UsageError, match="Name it with out="):
        chaosagent.search(chaosagent.Study(shop(), **SHORT), resume=True)
    assert sorted(path.name for path in folder.iterdir()) == ["agent.py"]


@pytest.mark.parametrize("clock", ["virtual", "wall"])
def test_a_search_runs_inside_a_running_loop_and_leaves_it_as_it_was(clock: Clock) -> None:
    study = chaosagent.Study(shop(clock), **SHORT, search={"trials": 20})

    async def cell() -> tuple[chaosagent.StudyResult, chaosagent.ReplayResult]:
        before = asyncio.current_task()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = chaosagent.search(study)
            replayed = chaosagent.replay(result, target=study.target)
        await asyncio.sleep(0)
        assert asyncio.current_task() is before
        return result, replayed

    result, replayed = asyncio.run(cell())

    assert [found.contract for found in result.counterexamples] == ["at-most-once"]
    assert replayed.totals == {"VIOLATED": 1}


def test_a_target_that_only_this_process_has_is_searched_and_the_missing_check_is_named(folder: Path) -> None:
    result = chaosagent.search(chaosagent.Study(shop(), **SHORT))

    assert result.violated
    assert len(result.remarks) == 1
    assert "target 'shop' has no name at the top level of a module" in result.remarks[0]
    assert "repeated in this process only" in str(result)
    assert sorted(path.name for path in folder.iterdir()) == ["agent.py"]


@pytest.mark.slow
def test_an_interrupt_is_raised_and_what_was_found_is_kept(folder: Path) -> None:
    study = chaosagent.Study(shop(), **SHORT)

    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        chaosagent.search(study, out="kept", on_progress=interrupt)
    begun = chaosagent.load("kept")
    ended = chaosagent.search(study, out="kept", resume=True)

    assert begun.interrupted
    assert not chaosagent.load(folder / "kept").interrupted
    assert ended.trials == chaosagent.search(study).trials


@pytest.mark.slow
def test_searches_in_threads_leave_the_process_as_it_was(folder: Path) -> None:
    study, before = chaosagent.Study("agent.py:agent", budget=1.2, operators=["service.delay"]), sys.stdout
    main_module = sys.modules["__main__"]

    async def both() -> list[chaosagent.StudyResult]:
        return await asyncio.gather(*(asyncio.to_thread(chaosagent.search, study) for _ in range(2)))

    one, other = asyncio.run(both())

    assert one.trials == other.trials
    assert sys.stdout is before
    assert sys.modules["__main__"] is main_module
    assert [path.name for path in folder.iterdir() if path.suffix == ".py"] == ["agent.py"]


def test_progress_is_reported() -> None:
    seen: list[int] = []

    chaosagent.search(chaosagent.Study(shop(), **SHORT), on_progress=lambda progress: seen.append(progress.trials))

    assert seen == sorted(seen)
    assert seen[-1] > 0


@pytest.mark.slow
def test_a_search_in_python_and_one_of_the_same_file_have_the_same_rows(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "agent", raising=False)
    (folder / "study.yaml").write_text("target: agent.py:agent\nbudget: 1.2\noperators: [service.delay]\n")
    assert main(["search", "study.yaml", "--out", "cli", "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    agent = __import__("agent").agent

    result = chaosagent.search(chaosagent.Study(agent, budget=1.2, operators=["service.delay"]), out="python")

    of_cli = chaosagent.load("cli")
    assert result.digest == answer["digest"] == of_cli.digest
    assert result.to_frame("trials") == of_cli.to_frame("trials")
    assert result.to_frame("certificates") == of_cli.to_frame("certificates")
    assert [found.record for found in result.counterexamples] == [found.record for found in of_cli.counterexamples]
    assert chaosagent.load("python") == result
    assert (Path("python") / "study.yaml").read_text().startswith("# Written in Python: ")


def test_what_a_progress_callback_prints_is_the_callers(capsys: pytest.CaptureFixture[str]) -> None:
    def report(_: object) -> None:
        sys.stdout.write("p" * 3_000)
        sys.stderr.write("e" * 3_000)

    result = chaosagent.search(chaosagent.Study(shop(), **SHORT), on_progress=report)

    printed = capsys.readouterr()
    assert (set(printed.out), set(printed.err)) == ({"p"}, {"e"})
    assert not any("printed" in remark for remark in result.remarks)


def test_a_result_is_replayed_with_the_target_that_was_searched(folder: Path) -> None:
    result = chaosagent.search(chaosagent.Study(shop(), **SHORT), out="kept")

    assert chaosagent.replay(result).totals == {"VIOLATED": 1}
    assert chaosagent.replay(result.counterexamples, mode="exact").held
    (lost,) = chaosagent.replay(folder / "kept" / "replays")
    assert "Name today's target with target=..." in lost.replay.detail
    assert ".replay" not in lost.replay.detail
