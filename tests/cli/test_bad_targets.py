"""Targets that misbehave, through the command line: told, bounded, with the right exit code."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chaosagent.execution.captured_output import SHOWN_BYTES_MAX
from tests.command_line import PROGRAM

Command = Callable[..., Any]
HEAD = """
import asyncio, os, signal, subprocess, sys, threading, time

from chaosagent import Claim, Outcome, StatusError, Task, effect, target


@target
async def bad(task, run):
    service = run.service("s", {"get": lambda: 1})
"""
STUDY = "target: bad.py:bad\ncontracts: [no-crash, termination]\nbudget: 1.2\noperators: [service.lost_response]\n"
ONE_FAULT = "[{operator: service.lost_response, when: [after]}]"
SEARCH = ("search", "bad.yaml", "--json")


@pytest.fixture
def bad(folder: Path) -> Callable[[str], None]:
    """Write a target with a body, and a study of it."""

    def written(body: str, more: str = "") -> None:
        lines = "".join(f"    {line}\n" for line in [*body.splitlines(), "return Outcome('')"])
        (folder / "bad.py").write_text(HEAD + lines, encoding="utf-8")
        (folder / "bad.yaml").write_text(STUDY + more, encoding="utf-8")

    return written


def in_a_process(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", PROGRAM, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


# ---------------------------------------------------------------------- what it prints


def test_what_a_target_prints_is_cut_and_the_rest_is_counted(chaosagent: Command, bad: Callable[..., None]) -> None:
    bad("print('a' * 9_000)\nsys.stderr.write('e' * 5_000_000)\nsys.stdout.close()\nawait service('get')")

    answer = chaosagent(*SEARCH)

    assert answer.json["errors"] == 0
    assert "a" * 9_000 in answer.err
    assert sum(len(line) for line in answer.err.splitlines() if set(line) <= {"a", "e"}) <= SHOWN_BYTES_MAX
    left_out = next(line for line in answer.err.splitlines() if line.startswith("chaosagent: the target printed "))
    assert left_out.endswith(" more bytes, which are left out")
    assert int(left_out.split()[4].replace(",", "")) > 5_000_000


def test_what_a_target_prints_cannot_act_on_the_terminal(chaosagent: Command, bad: Callable[..., None]) -> None:
    bad("print('\\x1b[2J\\u202e\\ud800\\r')\nsys.stdout.buffer.write(b'raw \\xff')\nawait service('get')")

    answer = chaosagent(*SEARCH)

    assert answer.json["errors"] == 0
    assert r"\x1b[2J\u202e\ud800\r" in answer.err
    assert r"raw \xff" in answer.err
    assert "\x1b" not in answer.err


@pytest.mark.slow
def test_what_does_not_go_through_python_is_no_answer_either(folder: Path, bad: Callable[..., None]) -> None:
    bad("os.write(1, b'from C')\nsubprocess.run(['echo', 'from a process'])\nawait service('get')")

    done = in_a_process(*SEARCH)

    assert json.loads(done.stdout)["errors"] == 0
    assert "from C" in done.stderr
    assert "from a process" in done.stderr
    assert folder.is_dir()


def test_a_replay_cuts_what_its_target_prints(chaosagent: Command, folder: Path, records: Path) -> None:
    agent = folder / "agent.py"
    agent.write_text(agent.read_text("utf-8").replace('is no answer"', 'is no answer" * 5_000'), encoding="utf-8")
    forget()

    answer = chaosagent("replay", records)

    assert answer.code == 1
    assert len(answer.err) < SHOWN_BYTES_MAX + 200
    assert "more bytes, which are left out" in answer.err


# ---------------------------------------------------------------------- how it ends


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (
            "return None",
            "target 'bad' (bad.py:7) returned nothing; it must return chaosagent.Outcome(message, success=...)",
        ),
        (
            "return 'done'",
            "target 'bad' (bad.py:7) returned a text; it must return chaosagent.Outcome(message, success=...)",
        ),
        ("return 3", "target 'bad' (bad.py:7) returned int; it must return chaosagent.Outcome(message, success=...)"),
        ("return asyncio.sleep(1)", "target 'bad' (bad.py:7) returned coroutine; it must return"),
        ("return Outcome('x', state=object())", "target 'bad' returned an outcome that is not plain data"),
        ("return Outcome(3)", "the message must be a text"),
        ("run.service('s', {'get': lambda: 2})", "opens 'service:s' twice, differently. Open it once"),
        ("run.service('s x[', {})", "names an interface 's x['; names have no blanks"),
        ("run.service('t', {'get': object}); await run.service('t', {'get': object})('get')", "cannot cross"),
    ],
)
def test_what_a_target_may_not_do_is_an_error_of_the_run(
    chaosagent: Command, bad: Callable[..., None], body: str, error: str
) -> None:
    bad(f"await service('get')\n{body}")

    answer = chaosagent(*SEARCH)

    assert answer.code == 4
    (failed,) = answer.json["failed"]
    assert error in failed["error"]
    assert not any(search["safe"] or search["certified"] for search in answer.json["searches"])
    assert {search["level"] for search in answer.json["searches"]} == {"C0"}
    bad("try:\n    await service('get')\nexcept ConnectionError:\n    pass")
    forget()
    assert chaosagent(*SEARCH).code == 0


def forget() -> None:
    """Let this process import the file again, as another process would."""
    for name in [name for name in sys.modules if name.startswith("chaosagent_file_")]:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("body", "contract", "reason"),
    [
        ("sys.exit(5)", "no-crash", "SystemExit: 5"),
        ("raise RecursionError", "no-crash", "RecursionError"),
        ("while True:\n    await service('get')", "termination", "step limit: 2000 steps"),
        ("await asyncio.Event().wait()", "termination", "deadlock"),
    ],
)
def test_what_a_target_does_to_itself_is_a_verdict(
    chaosagent: Command, bad: Callable[..., None], body: str, contract: str, reason: str
) -> None:
    bad(f"await service('get')\n{body}")

    answer = chaosagent(*SEARCH)

    assert answer.code == 1
    (search,) = [search for search in answer.json["searches"] if search["contract"] == contract]
    assert search["violated_nominally"]
    assert reason in search["nominal_reason"]
    assert search["nominal_crashed_at"] == ("bad.py:11 in bad" if contract == "no-crash" else None)


def test_where_a_target_crashes_is_told_beside_the_reason(chaosagent: Command, bad: Callable[..., None]) -> None:
    bad("order = await service('get')\norder['id']")

    answer = chaosagent("search", "bad.yaml")

    assert "TypeError: 'int' object is not subscriptable (at bad.py:11 in bad)" in answer.out


@pytest.mark.slow
def test_polling_without_ever_waiting_is_a_verdict(chaosagent: Command, bad: Callable[..., None]) -> None:
    bad("await service('get')\nwhile True:\n    await asyncio.sleep(0)", "run: {turns: 10_000}\n")

    answer = chaosagent(*SEARCH)

    assert answer.code == 1
    reasons = [str(search["nominal_reason"]) for search in answer.json["searches"]]
    assert any("turns of the event loop without any time passing" in reason for reason in reasons)


def test_tasks_that_are_left_behind_end_with_their_run(chaosagent: Command, bad: Callable[..., None]) -> None:
    bad(
        "async def on():\n    while True:\n        await run.clock.sleep(1)\n        await service('get')\n"
        "asyncio.get_running_loop().create_task(on())\n"
        "try:\n    await service('get')\nexcept ConnectionError:\n    pass"
    )

    answer = chaosagent(*SEARCH)

    assert (answer.code, answer.json["errors"]) == (0, 0)
    assert "never retrieved" not in answer.err


@pytest.mark.parametrize("text", ["1 / 0", "def x(:", "x = 1\0", "import sys; sys.exit(3)", "raise SystemExit"])
def test_a_target_that_fails_on_import_leaves_nothing_behind(
    chaosagent: Command, folder: Path, bad: Callable[..., None], text: str
) -> None:
    bad("")
    (folder / "bad.py").write_text(text, encoding="utf-8")

    answer = chaosagent("search", "bad.yaml")

    assert (answer.code, answer.out) == (4, "")
    assert answer.err.startswith("chaosagent: bad.yaml:1: ")
    assert "fails on import: " in answer.err
    assert not (folder / "chaosagent-out").exists()


@pytest.mark.parametrize(
    "target",
    [
        "nobody:bad",
        "bad.py:bed",
        "bad.py:StatusError",
        "../../../etc/passwd:bad",
        "bad.py",
        "bed",
        "':'",
        "nobody.py:x",
    ],
)
def test_a_target_that_does_not_exist_is_exit_code_2_whatever_is_wrong_with_it(
    chaosagent: Command, folder: Path, bad: Callable[..., None], target: str
) -> None:
    bad("")
    (folder / "bad.yaml").write_text(f"target: {target}\n", encoding="utf-8")

    answer = chaosagent("search", "bad.yaml")

    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("chaosagent: bad.yaml:1: ")
    assert "TypeError" not in answer.err
    assert not (folder / "chaosagent-out").exists()


# ---------------------------------------------------------------------- real time


@pytest.mark.parametrize(("more", "said"), [("run: {wall_seconds: 200}\n", True), ("run: {steps: 9}\n", False)])
def test_inline_says_that_it_enforces_no_real_time(
    chaosagent: Command, bad: Callable[..., None], more: str, *, said: bool
) -> None:
    bad("try:\n    await service('get')\nexcept ConnectionError:\n    pass", more)

    answer = chaosagent("search", "bad.yaml")

    assert answer.code == 0
    note = "chaosagent: only worker processes enforce run.wall_seconds; for that, add --executor process\n"
    assert answer.err.count(note) == said


@pytest.fixture
def bad_after_a_fault(bad: Callable[..., None]) -> Callable[..., None]:
    """Write a target with a body for when its answer is lost, and a study of that fault alone."""

    def written(body: str, more: str = "") -> None:
        bad(f"try:\n    await service('get')\nexcept ConnectionError:\n    {body}", more)
        study = Path("bad.yaml").read_text(encoding="utf-8")
        Path("bad.yaml").write_text(study.replace("[service.lost_response]", ONE_FAULT), encoding="utf-8")

    return written


@pytest.mark.slow
def test_a_target_that_hangs_under_a_fault_violates_termination_by_real_time(
    bad_after_a_fault: Callable[..., None],
) -> None:
    bad_after_a_fault(
        "while True:\n        pass", "run: {wall_seconds: 12}\n"
    )  # a run that is merely slow does not take so long

    done = in_a_process(*SEARCH, "--executor", "process", "--workers", "1")

    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)
    (counterexample,) = found["counterexamples"]
    assert "longer than 12 s of real time" in counterexample["reason"]
    assert "lost_response" in counterexample["schedule"]
    assert (counterexample["contract"], counterexample["confirmed"]) == ("termination", True)
    assert not counterexample["certified"]
    assert {search["contract"]: search["by_real_time"] for search in found["searches"]} == {
        "no-crash": False,
        "termination": True,
    }
    assert [(one["ending"], one["runs"]) for one in found["cut_off"]] == [("hung", 1)]
    assert (found["executions"], found["errors"]) == (2, 0)
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("os._exit(7)", "exit code 7"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "signal 9"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    ],
)
def test_a_target_that_ends_its_worker_is_an_error_of_that_run(
    bad_after_a_fault: Callable[..., None], body: str, error: str
) -> None:
    bad_after_a_fault(body)

    done = in_a_process(*SEARCH, "--executor", "process", "--workers", "1")

    assert done.returncode == 4, done.stderr
    found = json.loads(done.stdout)
    assert error in found["failed"][0]["error"]
    assert "lost_response" in found["failed"][0]["schedule"]
    assert (found["executions"], found["errors"]) == (2, 1)
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_what_a_target_prints_in_worker_processes_is_bounded(bad: Callable[..., None]) -> None:
    bad("print('y' * 10**8)\nsys.stderr.write('e' * 10**8)\nawait service('get')")

    done = in_a_process(*SEARCH, "--executor", "process", "--workers", "1")

    assert json.loads(done.stdout)["errors"] == 0
    assert len(done.stderr) < 3 * SHOWN_BYTES_MAX
    assert "more bytes, which are left out" in done.stderr


@pytest.mark.slow
def test_what_is_printed_only_in_worker_processes_is_counted(bad: Callable[..., None]) -> None:
    bad(
        "import multiprocessing\nif multiprocessing.parent_process() is not None:\n    print('y' * 5_000)\n"
        "await service('get')"
    )

    done = in_a_process(*SEARCH, "--executor", "process", "--workers", "1")

    runs = json.loads(done.stdout)["executions"]
    left_out = next(line for line in done.stderr.splitlines() if "more bytes" in line)
    assert "more bytes, which are left out" in left_out
    assert int(left_out.split()[4].replace(",", "")) >= 5_000 * runs
