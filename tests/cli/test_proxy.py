"""`chaosagent proxy`: what it prints, what it keeps, how it ends, and what it says of bad input."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from chaosagent.cli.main import main
from chaosagent.replays.store import read_record
from tests.cli.proxies import SECONDS_MAX, exported

pytestmark = [pytest.mark.proxy, pytest.mark.slow]
httpx = pytest.importorskip("httpx")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

KEY = {"authorization": "Bearer sk-secret"}
ANSWERS = ["--upstream", "openai=canned:answers.yaml"]
"""A model that is a file."""


@contextmanager
def _running(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start a proxy and yield it with the address of its first model."""
    (folder / "answers.yaml").write_text("- first\n- second\n")
    running = subprocess.Popen(
        [sys.executable, "-m", "chaosagent", "proxy", *options],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OPENAI_API_KEY": "sk-secret"},
    )
    try:
        yield running, exported(running, "OPENAI_BASE_URL")
    finally:
        running.kill()
        running.wait()


def _asked(address: str, *questions: str) -> list[Any]:
    with httpx.Client(trust_env=False, headers=KEY, timeout=SECONDS_MAX) as client:
        return [
            client.post(f"{address}/chat/completions", json={"messages": [{"role": "user", "content": question}]})
            for question in questions
        ]


def _ended(running: subprocess.Popen[str], number: int = signal.SIGINT) -> tuple[int, str]:
    running.send_signal(number)
    said, told = running.communicate(timeout=SECONDS_MAX)
    return running.returncode, said + told


def _free(port: int) -> bool:
    """Whether nobody listens at a port any more."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_session_is_recorded_and_answers_again(tmp_path: Path, reserved_port: int, number: int) -> None:
    record = tmp_path / "session.replay"
    options = ("--record", "session.replay", "--schedule", "model:openai[2] empty", "--port", str(reserved_port))
    with _running(tmp_path, *ANSWERS, *options) as (one, at):
        first = _asked(at, "one", "two")
        code, said = _ended(one, number)
    assert (code, _free(reserved_port)) == (0, True)
    assert "2 calls crossed, 1 injections landed" in said
    assert first[1].json()["choices"][0]["message"]["content"] == ""
    assert b"sk-secret" not in record.read_bytes()
    assert [step.operation for step in read_record(record).trace.steps] == ["complete", "complete"]

    with _running(tmp_path, *ANSWERS, "--replay", "session.replay", "--json") as (again, at):
        second = _asked(at, "one", "two")
        code, said = _ended(again)

    assert [answer.json() for answer in second] == [answer.json() for answer in first]
    assert code == 0
    assert json.loads(said[said.index("{") : said.rindex("}") + 1])["difference"] is None


def test_a_replay_ends_at_the_first_other_request(tmp_path: Path) -> None:
    with _running(tmp_path, *ANSWERS, "--record", "records") as (one, at):
        _asked(at, "one")
        _ended(one)
    (record,) = (tmp_path / "records").glob("*.replay")

    with _running(tmp_path, *ANSWERS, "--replay", str(record)) as (again, at):
        (told,) = _asked(at, "other")
        said, more = again.communicate(timeout=SECONDS_MAX)

    assert (told.status_code, told.headers["x-should-retry"]) == (409, "false")
    assert again.returncode == 3
    assert "DIVERGED" in said + more


def test_answers_that_are_known_are_not_asked_for_again(tmp_path: Path) -> None:
    for content in ("first", "changed"):
        with _running(tmp_path, *ANSWERS, "--memo", "memo.db") as (running, at):
            (tmp_path / "answers.yaml").write_text(f"- {content}\n")
            (told,) = _asked(at, "one")
            _ended(running)
        (tmp_path / "answers.yaml").write_text("- changed\n")

        assert told.json()["choices"][0]["message"]["content"] == "first"


def test_damaged_answers_are_asked_for_again_and_those_of_an_earlier_version_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with _running(tmp_path, *ANSWERS, "--memo", "memo.db") as (running, at):
        _asked(at, "one")
        _ended(running)
    assert stat.S_IMODE((tmp_path / "memo.db").stat().st_mode) == 0o600
    with closing(sqlite3.connect(tmp_path / "memo.db")) as memo, memo:
        memo.execute("UPDATE answer SET answer = replace(answer, CAST('first' AS BLOB), CAST('worst' AS BLOB))")

    with _running(tmp_path, *ANSWERS, "--memo", "memo.db") as (running, at):
        (told,) = _asked(at, "one")
        _ended(running)

    assert told.json()["choices"][0]["message"]["content"] == "first"
    assert (tmp_path / "memo.db.damaged").exists()
    with closing(sqlite3.connect(tmp_path / "old.db")) as memo, memo:
        memo.execute("CREATE TABLE answer (key BLOB PRIMARY KEY, answer BLOB NOT NULL) WITHOUT ROWID")
    assert main(["proxy", *ANSWERS, "--memo", str(tmp_path / "old.db")]) == 2
    assert "an earlier version of chaosagent wrote it" in capsys.readouterr().err


def test_an_upstream_that_is_not_there_is_told_on_both_sides(tmp_path: Path) -> None:
    with _running(tmp_path, "--upstream", "openai=http://127.0.0.1:9") as (running, at):
        (told,) = _asked(at, "one")
        code, said = _ended(running)

    assert (code, told.status_code) == (0, 502)
    assert "openai cannot be reached at http://127.0.0.1:9" in told.json()["error"]["message"]
    assert "openai cannot be reached at http://127.0.0.1:9" in said


def test_bad_input_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        for options, complaint in [
            (["--port", str(port)], f"port {port} on 127.0.0.1 cannot be had: Address already in use"),
            (["--upstream", "openai"], "write NAME=URL"),
            (["--upstream", "openai=api.openai.com"], "an upstream is a URL such as"),
            (["--upstream", "a=http://x", "--upstream", "a=http://y"], "'a' is given twice"),
            (["--schedule", "model:openai[1] refusl"], "Did you mean"),
            (["--replay", str(tmp_path / "no.replay")], "does not exist|cannot be read"),
            (["--replay", "x.replay", "--memo", "memo.db"], "leave out --schedule"),
        ]:
            assert main(["proxy", *options]) == 2
            assert re.search(complaint, capsys.readouterr().err)
