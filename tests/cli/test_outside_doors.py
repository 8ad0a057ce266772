"""What a target opens outside its doors is reported once, and not at all where the study allows it."""

from __future__ import annotations

from pathlib import Path

import pytest

import chaosagent as chaos
from tests.cli.conftest import Command

AGENT = """
from pathlib import Path

from chaosagent import Outcome, Task, target


@target(tasks=[Task("late"), Task("lost")])
async def agent(task, run):
    service = run.service("bank", {"pay": lambda: 1})
    Path("rules.txt").read_text()
    try:
        await service("pay")
    except Exception:
        Path("alarm.txt").read_text()
    return Outcome("paid", success=True)
"""
STUDY = "target: agent.py:agent\ncontracts: [no-crash]\nbudget: 1.2\noperators: [service.timeout]\n"


@pytest.fixture
def agent(folder: Path) -> Path:
    """Return the folder of an agent that reads a file in every run, and another one under a fault."""
    (folder / "agent.py").write_text(AGENT)
    (folder / "study.yaml").write_text(STUDY)
    for name in ("rules.txt", "alarm.txt"):
        (folder / name).write_text("x")
    return folder


@pytest.mark.parametrize("executor", ["inline", "process"])
def test_it_is_told_once_with_its_place_and_what_to_do(chaosagent: Command, agent: Path, executor: str) -> None:
    found = chaosagent("search", "study.yaml", "--executor", executor, "--out", "out")
    loaded = chaosagent("search", "study.yaml", "--executor", executor, "--out", "out", "--resume", "--json")

    told = " ".join(found.out.split())
    both = "reads rules.txt (agent.py:10 in agent), reads alarm.txt (agent.py:14 in agent)"
    assert f"Outside of its doors the target {both}. No fault reaches that" in told
    assert told.count("rules.txt") == 1
    assert [(one["kind"], one["what"]) for one in loaded.json["outside"]] == [
        ("reads", "rules.txt"),
        ("reads", "alarm.txt"),
    ]
    assert agent.exists()


def test_what_the_study_allows_is_not_told(chaosagent: Command, agent: Path) -> None:
    (agent / "study.yaml").write_text(f'{STUDY}allow: ["rules.*"]\n')
    study = chaos.Study(
        "agent.py:agent", contracts=["no-crash"], operators=["service.timeout"], budget=1.2, allow=["rules.*", "*.txt"]
    )

    some, none = chaosagent("search", "study.yaml"), chaos.search(study)

    assert "reads alarm.txt" in " ".join(some.out.split())
    assert "rules.txt" not in some.out
    assert "Outside of its doors" not in str(none)


def test_doctor_tells_it_before_a_search(chaosagent: Command, agent: Path) -> None:
    told = chaosagent("doctor", "agent.py:agent")

    assert agent.exists()
    assert "late: outside of its doors it reads rules.txt (agent.py:10 in agent)" in " ".join(told.out.split())


RETRYING = """
import contextlib, itertools, threading, urllib.error, urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer

from chaosagent import Outcome, Task, target

STATUSES = itertools.cycle([503, 200])


class Answers(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(next(STATUSES))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


SERVER = HTTPServer(("127.0.0.1", 0), Answers)
threading.Thread(target=SERVER.serve_forever, daemon=True).start()


def pay():
    for _ in range(2):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{SERVER.server_address[1]}").close()
            return 1
        except urllib.error.HTTPError as error:
            error.close()


@target(tasks=[Task("late")])
async def agent(task, run):
    with contextlib.suppress(Exception):
        await run.service("bank", {"pay": pay})("pay")
    await run.service("bank", {"pay": pay})("pay")
    return Outcome("paid", success=True)
"""


def test_a_client_that_retries_behind_a_door_is_told_by_search_show_doctor_and_page(
    chaosagent: Command, folder: Path
) -> None:
    (folder / "agent.py").write_text(RETRYING)
    (folder / "study.yaml").write_text(STUDY.replace("1.2", "2"))

    found, looked = chaosagent("search", "study.yaml", "--out", "out"), chaosagent("doctor", "agent.py:agent")
    shown = chaosagent("show", *map(str, Path("out").rglob("*.replay")), "--all")

    sentence = "GET 127.0.0.1 was sent 2 times inside service:bank[1], first answered by status 503"
    for told in (found.out, looked.out):
        assert f"retries by itself: {sentence}" in " ".join(told.split())
        assert "max_retries=0" in told
    page = Path("out/report.html").read_text("utf-8")
    for told in (shown.out, page):
        assert f"its client retried by itself: {sentence}" in " ".join(told.split())
