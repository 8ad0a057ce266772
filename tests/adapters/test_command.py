"""Commands are targets: what they are told, what they tell, how they end, and that nothing of them is left."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import chaosagent
from chaosagent.adapters.command import Service, command
from chaosagent.adapters.target_file import load_target_file
from chaosagent.clock import monotonic
from chaosagent.errors import MissingExtraError, TargetError, UnknownNameError, UsageError
from chaosagent.execution.exact_replay import serve
from chaosagent.execution.execute import Execution, Experiment, execute
from chaosagent.execution.untraced import UntracedRun
from chaosagent.faults.schedule import EMPTY, parse
from chaosagent.limits import RunLimits
from chaosagent.targets.code import code_of
from chaosagent.targets.loading import load_target
from chaosagent.targets.target import Target
from chaosagent.trace.trace import Trace
from chaosagent.vocabulary import Claim, Ending, SystemConfig, Task

pytestmark = [pytest.mark.proxy, pytest.mark.slow]
pytest.importorskip("httpx")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

AGENT = """
import json, os, sys, urllib.request

def ask(url, body=None):
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data), timeout=200) as answer:
        return json.load(answer)

task = json.load(sys.stdin)
assert task == json.loads(os.environ["CHAOSAGENT_TASK"])
plan = ask(os.environ["OPENAI_BASE_URL"] + "/chat/completions", {"messages": [{"role": "user", "content": "pay?"}]})
paid = ask(os.environ["SHOP_URL"] + "/refunds", {"order": task["input"]["order"]})
said = plan["choices"][0]["message"]["content"]
print("working ...")
claims = [{"kind": "refund", "identity": task["input"]}]
print(json.dumps({"message": f"{said} {paid}", "success": True, "claims": claims}))
"""
TASK = Task("one", {"order": "A-17"})


def shop() -> dict[str, Callable[..., Any]]:
    """A shop that writes down what it pays."""
    paid: list[str] = []

    def refund(order: str) -> dict[str, int]:
        paid.append(order)
        return {"refund": len(paid)}

    return {"POST /refunds": refund, "state": lambda: paid}


def _agent(program: str = AGENT, **options: Any) -> Target:
    services = {"shop": Service(shop, effects={"POST /refunds": chaosagent.effect("order", kind="refund")})}
    argv = [sys.executable, "-c", program]
    return command(argv, models={"openai": lambda _: "yes"}, services=services, tasks=[TASK], **options)


def _executed(system: Target, schedule: str = "", seconds: float = 300.0) -> Execution:
    delta = parse(schedule) if schedule else EMPTY
    limits = RunLimits(wall_seconds_max=seconds)
    return execute(Experiment(system, TASK, SystemConfig(), seed=1, limits=limits), delta)


def _comes_true(condition: Callable[[], bool]) -> bool:
    """Whether something comes to be so; a machine that is slow has a minute."""
    until = monotonic() + 60
    while not condition():
        if monotonic() > until:
            return False
        subprocess.run(["/bin/sleep", "0.01"], check=True)
    return True


def _gone(pid: int) -> bool:
    """Whether a process has ended, if only nobody has waited for it yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def _cut_off(run: Callable[[float], Trace], has_begun: Callable[[], bool]) -> tuple[Trace, float]:
    """Return a run that is ended after some seconds, and how many: as many as its program needs to begin at all."""
    for seconds in (0.5, 5.0, 50.0):
        trace = run(seconds)
        if has_begun():
            return trace, seconds
    raise AssertionError("the program does not begin")


def test_a_command_crosses_doors_and_tells_its_outcome() -> None:
    first, second = _executed(_agent()).trace, _executed(_agent()).trace

    assert first.ending is Ending.FINISHED, first.ending_detail
    assert first.outcome.message == "yes {'refund': 1}"
    assert first.outcome.claims == (Claim("refund", {"order": "A-17"}, ""),)
    assert first.outcome.state == {"shop": ["A-17"]}
    assert [effect.key for effect in first.effects] == ["refund(order='A-17')"]
    assert first.digest == second.digest


def test_its_trace_is_the_same_in_every_process() -> None:
    program = "from tests.adapters.test_command import _agent, _executed\nprint(_executed(_agent()).trace.digest)"
    root = str(Path(__file__).parents[2])

    digests = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": root},
            cwd=root,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }

    assert len(digests) == 1


def test_a_crash_tells_the_exit_code_and_the_error() -> None:
    trace = _executed(_agent(), "service:shop[1] error_status(status=503)").trace

    assert trace.ending is Ending.CRASHED
    assert trace.ending_detail == (
        "CommandFailed: exit code 1: urllib.error.HTTPError: HTTP Error 503: Service Unavailable"
    )


def test_all_of_stderr_and_the_traceback_of_what_stands_behind_reach_its_author_and_no_trace() -> None:
    def broken() -> dict[str, Callable[..., Any]]:
        def refund(order: str) -> int:
            return int(order)

        return {"POST /refunds": refund}

    argv = [sys.executable, "-c", AGENT]
    system = command(argv, models={"openai": lambda _: "yes"}, services={"shop": Service(broken)}, tasks=[TASK])

    execution = _executed(system)

    stderr, raised = execution.remarks
    assert stderr.startswith("stderr of the command\nTraceback (most recent call last):\n")
    assert stderr.endswith("urllib.error.HTTPError: HTTP Error 500: Internal Server Error")
    assert raised.startswith("shop POST /refunds raised\nTraceback (most recent call last):\n")
    assert "return int(order)" in raised
    assert "Traceback" not in execution.trace.ending_detail
    assert len(raised.splitlines()) < 8  # from where it leaves chaosagent


def test_a_run_that_does_not_end_in_time_tells_what_was_said_until_then() -> None:
    program = "import sys, time; print('waiting for a key', file=sys.stderr, flush=True); time.sleep(60)"

    assert _executed(_agent(program, seconds_max=0.5)).remarks == ("stderr of the command\nwaiting for a key",)


def test_every_repeat_of_a_run_has_its_id_and_other_runs_have_others() -> None:
    told = _agent("import os; print(os.environ['CHAOSAGENT_RUN_ID'])")
    config = SystemConfig("other")

    def ran(task: str = "one", config: SystemConfig | None = None, seed: int = 1, schedule: str = "") -> str:
        delta = parse(schedule) if schedule else EMPTY
        return execute(Experiment(told, Task(task), config or SystemConfig(), seed), delta).trace.outcome.message

    same = {ran(), ran(), ran(schedule="service:shop[1] error_status(status=503)")}
    assert len(same) == 1
    assert len(same | {ran("two"), ran(config=config), ran(seed=2)}) == 4
    assert all(len(one) == 32 for one in same)


def test_what_it_says_is_the_message_where_it_is_no_object() -> None:
    trace = _executed(_agent("print('all'); print('done')")).trace

    assert trace.outcome.message == "all\ndone"


def test_claims_that_are_none_are_refused() -> None:
    with pytest.raises(TargetError, match="told claims that are none"):
        _executed(_agent("print('{\"claims\": [3]}')"))


def test_it_is_replayed_without_its_world() -> None:
    clean = _executed(_agent()).trace
    nowhere = command(
        [sys.executable, "-c", AGENT],
        models={"openai": "http://127.0.0.1:9"},
        services={"shop": Service("http://127.0.0.1:9", routes=["POST /refunds"], reset="POST /reset")},
        tasks=[TASK],
    )

    served = serve(Experiment(nowhere, TASK, SystemConfig(), seed=1), clean, EMPTY)

    assert served.difference is None
    assert served.execution.trace.digest == clean.digest


def test_it_runs_in_earnest_with_nothing_recorded() -> None:
    outcome = asyncio.run(_agent().run(TASK, UntracedRun(TASK)))

    assert outcome.message == "yes {'refund': 1}"


def test_nothing_is_left_of_it_when_it_ends_or_does_not(tmp_path: Path) -> None:
    file = tmp_path / "pids"
    leaves = (
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen(['sleep', '600'])\n"
        f"open({str(file)!r}, 'a').write(f'{{os.getpid()}} {{child.pid}} ')\n"
    )
    stays = f"{leaves}time.sleep(600)"

    def pids() -> list[int]:
        return [int(pid) for pid in file.read_text().split()]

    ended = _executed(_agent(f"{leaves}print('done')")).trace
    cut, _ = _cut_off(lambda seconds: _executed(_agent(stays), seconds=seconds).trace, lambda: len(pids()) == 4)
    late, after = _cut_off(
        lambda seconds: _executed(_agent(stays, seconds_max=seconds)).trace, lambda: len(pids()) == 6
    )

    assert ended.outcome.message == "done"
    assert cut.ending is Ending.HUNG
    assert f"it did not end within {after:g} s" in late.ending_detail
    assert _comes_true(lambda: all(_gone(pid) for pid in pids()))


def test_it_ends_with_whoever_runs_it(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    program = (
        "from tests.adapters.test_command import _agent, _executed\n"
        f"_executed(_agent(\"import os, time; open({str(file)!r}, 'w').write(str(os.getpid())); time.sleep(600)\"))"
    )
    root = str(Path(__file__).parents[2])
    running = subprocess.Popen([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": root}, cwd=root)
    try:
        assert _comes_true(lambda: file.exists() and file.read_text() != "")
    finally:
        running.kill()
        running.wait()

    assert _comes_true(lambda: _gone(int(file.read_text())))


def test_a_server_that_is_not_there_ends_the_run_with_a_clear_message() -> None:
    system = command([sys.executable, "-c", AGENT], models={"openai": "http://127.0.0.1:9"}, tasks=[TASK])

    with pytest.raises(TargetError, match=r"openai cannot be reached at http://127.0.0.1:9"):
        _executed(system)


def test_a_program_that_is_not_there_is_a_crash_with_its_name() -> None:
    trace = _executed(command("no-such-program-4711", tasks=[TASK])).trace

    assert trace.ending is Ending.CRASHED
    assert "no-such-program-4711: not found" in trace.ending_detail


def test_options_and_commands_that_are_none_are_refused() -> None:
    with pytest.raises(UsageError, match="there is no such option"):
        command("true", timeout=3)
    with pytest.raises(UsageError, match="it is empty"):
        command("")


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)

    with pytest.raises(MissingExtraError, match=r"the proxy needs uvicorn.*chaosagent\[proxy\]"):
        command("true")


# ---------------------------------------------------------------------- described in a file


def _described(folder: Path, **said: Any) -> Path:
    (folder / "agent.py").write_text(AGENT)
    (folder / "world.py").write_text(
        "def shop():\n    return {'POST /refunds': lambda order: {'refund': 1}}\n\n"
        "def model(request):\n    return 'yes'\n"
    )
    usual = {
        "command": f"{sys.executable} agent.py",
        "models": {"openai": "scripted:world.py:model"},
        "services": {"shop": {"upstream": "scripted:world.py:shop", "effects": {"POST /refunds": ["order"]}}},
        "tasks": [{"id": "one", "input": {"order": "A-17"}}],
    }
    file = folder / "agent.yaml"
    file.write_text(json.dumps({**usual, **said}))
    return file


def test_a_file_describes_a_command(tmp_path: Path) -> None:
    _described(tmp_path, models={"openai": "canned:answers.yaml"})
    (tmp_path / "answers.yaml").write_text("- ready\n")

    system = load_target("agent.yaml", folder=tmp_path)
    trace = _executed(system).trace

    assert trace.outcome.message == "ready {'refund': 1}"
    assert [effect.key for effect in trace.effects] == ["shop.POST /refunds(order='A-17')"]
    assert str(tmp_path / "agent.py") in code_of(system, [])


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        ({"modles": {}}, "agent.yaml:1: modles: unknown key 'modles'. Did you mean 'models'"),
        (
            {"services": {"shop": {"upstream": "http://x", "effect": {}}}},
            "unknown key 'effect'. Did you mean 'effects'",
        ),
        ({"services": {"shop": {"upstream": "shop"}}}, "services.shop='shop': an upstream is a URL"),
        (
            {"models": {"openai": "scripted:world.py:modle"}},
            "unknown attribute of world.py 'modle'. Did you mean 'model'",
        ),
        ({"services": {"shop": {"upstream": "http://x", "routes": ["x"]}}}, "agent.yaml: 'x' is no operation"),
        ({"models": {"openai": "scripted:other.py:model"}}, "there is no file"),
        ({"models": {"openai": "canned:answers.yaml"}}, "answers.yaml does not exist. Name a file of answers"),
        ({"command": []}, "agent.yaml:1: command is []; "),
        ({"seconds_max": -1}, "agent.yaml:1: seconds_max is -1; it must be greater than 0"),
    ],
)
def test_a_file_that_says_something_else_is_refused(tmp_path: Path, said: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint.replace("[", r"\[").replace("?", r"\?")) as refused:
        load_target_file(_described(tmp_path, **said))
    assert isinstance(refused.value, UsageError | UnknownNameError)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"missing\.yaml does not exist\. Name a description of a target"):
        load_target("missing.yaml", folder=tmp_path)


def test_the_readme_describes_a_command_that_is_one(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "README.md").read_text()
    shown = page.partition("```yaml title=frameworks/agent.yaml\n")[2].partition("```")[0]
    (tmp_path / "agent.yaml").write_text(shown)

    system = load_target("agent.yaml", folder=tmp_path)

    assert list(system.tasks) == ["late"]
    assert system.run.behind.services["shop"].upstream == "http://127.0.0.1:8080"  # type: ignore[attr-defined]
