"""`chaosagent doctor`: what keeps a target from being searched is said, with its remedy."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chaosagent.execution.toxiproxy import Server

Command = Callable[..., Any]
HEAD = """
import random, time, uuid

from chaosagent import Outcome, Task, deterministic, effect, target

@target
async def agent(task, run):
    bank = run.service("bank", {"pay": lambda key: key}, effects={"pay": effect("key")})
"""


@pytest.fixture
def look(folder: Path, chaosagent: Command) -> Callable[..., tuple[int, dict[str, list[dict[str, str]]]]]:
    """Write a target with a body, look at it, and return the exit code and the remarks by what they are about."""

    def looked(body: str, *options: str) -> tuple[int, dict[str, list[dict[str, str]]]]:
        lines = "".join(f"    {line}\n" for line in body.splitlines())
        (folder / "looked_at.py").write_text(HEAD + lines, encoding="utf-8")
        answer = chaosagent("doctor", "looked_at.py:agent", "--json", *options)
        told: dict[str, list[dict[str, str]]] = {}
        for remark in json.loads(answer.out)["remarks"]:
            told.setdefault(remark["about"], []).append(remark)
        (folder / "looked_at.py").unlink()
        for name in [name for name in sys.modules if name.startswith("chaosagent_file_")]:  # the next is another one
            del sys.modules[name]
        return answer.code, told

    return looked


def _bad(told: dict[str, list[dict[str, str]]]) -> str:
    return " ".join(remark["text"] for remarks in told.values() for remark in remarks if remark["level"] == "bad")


def test_a_target_without_fault_is_ready(look: Callable[..., Any]) -> None:
    code, told = look("run.checkpoint('start', 1)\nawait bank('pay', key='a')\nreturn Outcome('', success=True)")

    assert code == 0
    assert told["determinism"][0]["text"].startswith("equal traces of 1 of 1 tasks")
    assert told["doors"][0]["text"] == "crossed in these runs: service:bank (1)"
    assert {"effects", "checkpoints"}.isdisjoint(told)


@pytest.mark.parametrize(
    ("key", "cause"),
    [
        (
            "str(uuid.uuid4())",
            "random numbers not drawn from run.rng(label): uuid.uuid4() at looked_at.py:9",
        ),
        ("time.strftime('%Y-%m-%dT%H:%M:%S') + str(time.time())", "the wall clock: time.strftime() at looked_at.py:9"),
        ("random.random()", "random numbers not drawn from run.rng(label): random.random() at looked_at.py:9"),
        ("''.join(set('abcdefghijklmnopqrstuvwxyz'))", "the order of a set"),
    ],
)
def test_what_is_not_deterministic_is_named_with_its_likely_cause(
    look: Callable[..., Any], key: str, cause: str
) -> None:
    code, told = look(f"await bank('pay', key={key})\nreturn Outcome('', success=True)")

    assert code == 1
    assert cause in _bad(told)
    assert "service:bank[1]" in _bad(told)


def test_a_clock_that_is_read_is_a_remark_even_where_runs_are_equal(look: Callable[..., Any]) -> None:
    code, told = look("begun = time.perf_counter()\nawait bank('pay', key='a')\nreturn Outcome('', success=True)")

    (remark,) = [one for one in told["default"] if "real time" in one["text"]]
    assert (code, remark["level"]) == (0, "hint")
    assert remark["text"] == "asks for real time: time.perf_counter() at looked_at.py:9 in agent"
    assert "ask run.clock.now(), or pin it: `with chaosagent.deterministic(run):`" in remark["remedy"]


def test_a_clock_that_is_pinned_is_no_remark(look: Callable[..., Any]) -> None:
    code, told = look(
        "with deterministic(run):\n    time.perf_counter()\n    time.time()\nawait bank('pay', key='a')\n"
        "return Outcome('', success=True)"
    )

    assert code == 0
    assert not [one for one in told["default"] if "asks for" in one["text"]]


def test_the_remedy_that_it_names_is_one(look: Callable[..., Any]) -> None:
    code, told = look(
        "with deterministic(run):\n    await bank('pay', key=str(uuid.uuid4()))\nreturn Outcome('', success=True)"
    )

    assert (code, _bad(told)) == (0, "")


def test_a_target_without_doors_cannot_be_searched(look: Callable[..., Any]) -> None:
    code, told = look("return Outcome('', success=True)")

    assert code == 1
    assert "crosses no boundary" in _bad(told)


def test_what_breaks_by_itself_is_told(look: Callable[..., Any]) -> None:
    code, told = look("raise ValueError('no key')")

    assert code == 1
    assert "ends in crashed: ValueError: no key" in _bad(told)


def test_what_could_be_declared_is_a_hint(look: Callable[..., Any]) -> None:
    code, told = look("await run.service('mail', {'send': lambda to: 1})('send', to='a')\nreturn Outcome('')")

    assert code == 0
    assert "service:mail send" in told["effects"][0]["text"]
    assert told["effects"][0]["level"] == "hint"
    assert "run.checkpoint" in told["checkpoints"][0]["remedy"]
    assert told["default"][1]["text"] == "nothing says whether the outcome is right"


def test_a_call_that_fails_says_nothing_of_what_it_commits(look: Callable[..., Any]) -> None:
    code, told = look(
        "def broken(key):\n    raise ConnectionError\n"
        "bank = run.service('card', {'pay': broken}, effects={'pay': effect('key')})\n"
        "try:\n    await bank('pay', key='a')\nexcept ConnectionError:\n    return Outcome('', success=True)"
    )

    assert code == 0
    assert "effects" not in told


def test_runs_that_end_another_process_are_not_called_equal(
    look: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENDED_IN", str(os.getpid()))
    code, told = look(
        "import os\nawait bank('pay', key='a')\n"
        "if str(os.getpid()) != os.environ['ENDED_IN']:\n    os._exit(3)\nreturn Outcome('', success=True)"
    )

    assert code == 1
    assert "does not run: the worker process ended with exit code 3" in _bad(told)
    assert "determinism" not in told


def test_runs_that_could_not_be_compared_are_not_called_equal(
    look: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LOOKED_AT_IN", str(os.getpid()))
    monkeypatch.setenv("RUN_BEFORE", str(tmp_path / "run"))
    code, told = look(
        "import os\nfrom pathlib import Path\n"
        "if str(os.getpid()) == os.environ['LOOKED_AT_IN']:\n"
        "    with Path(os.environ['RUN_BEFORE']).open('a+') as runs:\n"
        "        runs.write('run ')\n"
        "        runs.seek(0)\n"
        "        if runs.read().count('run') > 2:\n"
        "            bank('pay', key='not awaited')\n"
        "await bank('pay', key='a')\nreturn Outcome('', success=True)"
    )

    assert code == 1
    assert "whether they repeat is not known: task 'default', seed 0, run once more: " in _bad(told)
    assert "was called and never awaited" in _bad(told)
    assert "determinism" not in told


def test_a_call_that_is_used_without_having_been_awaited_is_named(look: Callable[..., Any]) -> None:
    code, told = look("return Outcome(await bank('pay', key='a') + bank('pay', key='b'))")

    assert code == 1
    assert "Write `await` in front of the call." in told["default"][0]["remedy"]


def test_a_function_of_the_target_that_is_used_without_having_been_awaited_is_named(look: Callable[..., Any]) -> None:
    code, told = look("async def paid():\n    return await bank('pay', key='a')\nreturn Outcome(paid()['key'])")

    assert code == 1
    assert "'coroutine' object is not subscriptable, at looked_at.py:" in _bad(told)
    assert "Write `await` in front of the call." in told["default"][0]["remedy"]


def test_a_call_that_is_handed_on_without_having_been_awaited_is_named(look: Callable[..., Any]) -> None:
    code, told = look("await bank('pay', key=bank('pay', key='a'))\nreturn Outcome('', success=True)")

    assert code == 1
    assert "without having been awaited. Write `await` in front" in _bad(told)


def test_a_function_of_the_target_that_is_never_awaited_is_a_hint(look: Callable[..., Any]) -> None:
    code, told = look(
        "async def paid():\n    await bank('pay', key='b')\npaid()\nrun.clock.sleep(3)\n"
        "await bank('pay', key='a')\nreturn Outcome('', success=True)"
    )

    texts = [remark["text"] for remark in told["default"] if remark["level"] == "hint"]
    assert code == 0
    assert [text.partition(" (")[0] for text in texts] == ["agent.<locals>.paid", "sleep"]
    assert texts[1].endswith("(looked_at.py:12) is called and never awaited, so it did not happen")


def test_a_coroutine_that_is_forgotten_late_is_told_with_the_place_of_its_call(look: Callable[..., Any]) -> None:
    code, told = look(
        "async def paid():\n    await bank('pay', key='b')\nlater = paid()\n"
        "await bank('pay', key='a')\nreturn Outcome('', success=True)"
    )

    texts = [remark["text"] for remark in told["default"] if remark["level"] == "hint"]
    assert code == 0
    assert texts == ["agent.<locals>.paid (looked_at.py:11) is called and never awaited, so it did not happen"]


def test_other_warnings_of_a_target_are_shown_as_ever(look: Callable[..., Any]) -> None:
    with pytest.warns(RuntimeWarning, match="old") as warned:
        look("import warnings\nwarnings.warn('old', RuntimeWarning)\nawait bank('pay', key='a')\nreturn Outcome('')")

    assert len(warned) >= 1


def test_a_run_without_end_is_ended(look: Callable[..., Any]) -> None:
    code, told = look("while True:\n    pass", "--wall-seconds", "0.5")

    assert code == 1
    assert "does not run" in _bad(told)


def test_people_get_a_page(folder: Path, chaosagent: Command) -> None:
    del folder
    answer = chaosagent("doctor", "refund")

    assert answer.code == 0
    assert "Ready to be searched" in answer.out


def test_what_does_not_exist_gets_the_nearest(chaosagent: Command) -> None:
    assert chaosagent("doctor", "refnd").code == 2
    assert "refund" in chaosagent("doctor", "refnd").err
    assert "late-parcel" in chaosagent("doctor", "refund", "--task", "late-parcl").err
    assert "naive" in chaosagent("doctor", "refund", "--config", "niave").err


def test_a_toxiproxy_that_is_not_there_is_told_where_it_is_needed(
    look: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOXIPROXY", "no-such-program")

    _, without = look("await bank('pay', key='a')\nreturn Outcome('', success=True)")
    _, told = look(
        "async def connect(host, port):\n    return {'ask': lambda: 1}\n"
        "await run.network('ledger', '127.0.0.1:1', connect)('ask')"
    )

    assert "toxiproxy" not in without
    assert told["toxiproxy"][0]["level"] == "hint"
    assert "TOXIPROXY='no-such-program' names no program" in told["toxiproxy"][0]["text"]


@pytest.mark.slow
@pytest.mark.network
def test_a_toxiproxy_that_is_there_is_asked_its_version(chaosagent: Command, toxiproxy: Server) -> None:
    answer = chaosagent("doctor", "refund", "--json")

    (remark,) = [one for one in json.loads(answer.out)["remarks"] if one["about"] == "toxiproxy"]
    version = "of unknown version, as `go install` builds it" if toxiproxy.version == "git" else toxiproxy.version
    assert (answer.code, remark["level"]) == (0, "good")
    assert remark["text"].startswith(f"{version}, ")


@pytest.mark.parametrize(("end", "what"), [("", "nothing"), ("\nreturn 'done'", "a text")])
def test_a_missing_outcome_is_refused(look: Callable[..., Any], end: str, what: str) -> None:
    code, told = look(f"await bank('pay', key='a'){end}")

    assert code == 1
    assert f"returned {what}; it must return chaosagent.Outcome(message, success=...)" in _bad(told)


def test_a_task_left_behind_is_pointed_out(look: Callable[..., Any]) -> None:
    body = "import asyncio\nawait bank('pay', key='a')\nkept = asyncio.create_task(asyncio.sleep(9))"
    code, told = look(f"{body}\nreturn Outcome('', success=True)")

    hints = [one["text"] for one in told["default"] if one["level"] == "hint"]
    assert code == 0
    assert any("sleep, created at looked_at.py:11 in agent. Await or cancel" in text for text in hints)


@pytest.mark.proxy
@pytest.mark.slow
def test_a_command_that_crashes_shows_its_last_step_and_all_of_stderr(folder: Path, chaosagent: Command) -> None:
    pytest.importorskip("uvicorn")
    (folder / "agent.py").write_text(
        "import os, sys, urllib.request\n"
        "print('first line', file=sys.stderr)\n"
        "urllib.request.urlopen(os.environ['SHOP_URL'] + '/orders')\n"
    )
    (folder / "shop.py").write_text("def make():\n    return {'GET /orders': lambda: {}['nothing']}\n")
    (folder / "agent.yaml").write_text(
        f"command: {sys.executable} agent.py\nservices: {{shop: {{upstream: 'scripted:shop.py:make'}}}}\n"
        "tasks: [{id: one}]\n"
    )

    answer = chaosagent("doctor", "agent.yaml", "--wall-seconds", "20")

    assert answer.code == 1
    assert "the run ends in crashed after step 0, service:shop GET /orders, which failed (nothing)" in answer.out
    assert "first line" in answer.out
    assert "shop GET /orders raised" in answer.out
    assert "KeyError: 'nothing'" in answer.out


def test_a_command_that_draws_by_chance_is_advised_without_python(folder: Path, chaosagent: Command) -> None:
    pytest.importorskip("uvicorn")
    (folder / "agent.yaml").write_text(
        f"command: [{sys.executable}, -c, 'import uuid; print(uuid.uuid4())']\ntasks: [{{id: one}}]\n"
    )

    told = chaosagent("doctor", "agent.yaml").out

    assert "derive it from CHAOSAGENT_RUN_ID, which is the same in every repeat of a run" in told
    assert "run.rng" not in told
