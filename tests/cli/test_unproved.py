"""What a search says of what it could not prove: runs without an end, hangs, and what lies outside of the search."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.execution.workers.workbench import Job, Workbench
from chaosagent.faults.schedule import EMPTY
from chaosagent.limits import RunLimits
from chaosagent.targets.target import target
from tests.cli.conftest import Command

AGENT = """
from chaosagent import Outcome, StatusError, Task, effect, target

TASKS = ("hangs", "polls", "polls-and-pays", "records", "needs-three", "stops-at-two")


@target(tasks=list(map(Task, TASKS)))
async def agent(task, run):
    payments = run.service("payments", {"pay": lambda order: order}, effects={"pay": effect("order")})
    status = run.service("status", {"get": lambda: "paid"}, read_only=True)
    await payments("pay", order="A-1")
    failures = 0
    for _ in range(3 if task.id in ("needs-three", "stops-at-two") else 1):
        try:
            await status("get")
        except ConnectionError:
            failures += 1
    if task.id == "hangs" and failures:
        while True:
            pass
    polls = {"polls": 10**9, "polls-and-pays": 60}.get(task.id, 0)
    for _ in range(polls if failures else 0):
        await run.clock.sleep(60)
        run.note("waiting")
    if failures and task.id == "polls-and-pays" or failures == 3:
        await payments("pay", order="A-1")
    if failures == 2 and task.id == "stops-at-two":
        run.inconclusive("the recording has two failures at most")
    if failures and task.id == "records":
        run.inconclusive("the recording has no second answer")
    return Outcome("paid", success=True)
"""
STUDY = """target: agent.py:agent
contracts: [at-most-once, termination]
budget: 1.3
operators: [{operator: service.lost_response, when: [before], interfaces: ["service:status"]}]
run: {steps: 20}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with an agent whose tasks end in different ways under a fault, and work in it."""
    (tmp_path / "agent.py").write_text(AGENT, encoding="utf-8")
    (tmp_path / "study.yaml").write_text(STUDY, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def searches(answer: Any) -> dict[str, Any]:
    return {search["contract"]: search for search in answer.json["searches"]}


def test_what_a_run_would_do_beyond_its_limits_is_not_proved(chaosagent: Command) -> None:
    answer = chaosagent("search", "study.yaml", "--task", "polls", "--json")
    page = chaosagent("search", "study.yaml", "--task", "polls").out

    found = searches(answer)
    assert answer.code == 1
    assert found["termination"]["certified"]
    assert not found["at-most-once"]["safe"]
    assert found["at-most-once"]["lower_bound"] == 1.1
    assert "no violation in the 1 other" in found["at-most-once"]["certificate"]
    (cut,) = answer.json["cut_off"]
    assert (cut["limit"], cut["runs"]) == ("run.steps", 1)
    assert "One run did not end: 1 at run.steps (20, and 10 times that in a second run)." in page
    assert "raise run.steps" in page


def test_what_it_does_within_ten_times_its_limits_is_found(chaosagent: Command) -> None:
    answer = chaosagent("search", "study.yaml", "--task", "polls-and-pays", "--out", "here", "--json")

    found = searches(answer)
    assert found["at-most-once"]["certified"]
    assert found["termination"]["certified"]
    assert answer.json["cut_off"] == []
    (slow,) = answer.json["beyond_limit"]
    assert (slow["limit"], slow["value"]) == ("run.steps", "20 steps")
    (late,) = [one for one in answer.json["counterexamples"] if one["contract"] == "termination"]
    assert late["reason"] == "the run did not terminate within its limit of 20 steps (run.steps)"
    assert "finished, beyond the limit of 20 steps (run.steps)" in chaosagent("show", late["record"]).out
    assert chaosagent("replay", "here/replays", "--mode", "exact").code == 0
    page = chaosagent("search", "study.yaml", "--task", "polls-and-pays").out
    assert "ended, but only beyond a limit: 20 steps (run.steps). Most contracts" in page
    assert "If your agent may take that long, raise run.steps." in page


def test_a_run_that_can_show_nothing_further_holds_the_bound_down(chaosagent: Command) -> None:
    answer = chaosagent("search", "study.yaml", "--task", "records", "--json")
    page = chaosagent("search", "study.yaml", "--task", "records").out

    assert answer.code == 3
    assert {search["lower_bound"] for search in answer.json["searches"]} == {1.1}
    assert "One run ended as inconclusive, so nothing is proved beyond the cost of" in page
    assert "One other run broke no contract." in page
    assert "such as under service:status[1] service.lost_response(when=before): the recording has no second" in page


def test_what_is_broken_above_the_budget_is_reported_as_that(chaosagent: Command) -> None:
    options = ("--task", "needs-three", "--contract", "at-most-once", "--budget", "2.5")
    answer = chaosagent("search", "study.yaml", *options, "--json")
    page = chaosagent("search", "study.yaml", *options).out

    (search,) = answer.json["searches"]
    assert (answer.code, search["safe"]) == (0, True)
    assert search["above_budget"]["cost"] == pytest.approx(3.3)
    assert "One contract is broken above your budget of 2.5." in page
    assert "raise --budget to 3.3." in page


def test_runs_that_stay_on_track_are_not_called_clean_if_one_breaks_a_contract_above_the_budget(
    chaosagent: Command,
) -> None:
    options = ("--task", "stops-at-two", "--contract", "at-most-once", "--budget", "2.5")
    page = chaosagent("search", "study.yaml", *options).out

    assert "One contract is broken above your budget of 2.5." in page
    assert "ended as inconclusive, so" in page
    assert "broke no contract" not in page


def test_operators_that_are_off_by_default_are_listed_as_not_tried(chaosagent: Command, folder: Path) -> None:
    (folder / "study.yaml").write_text("target: agent.py:agent\nbudget: 1\n", encoding="utf-8")
    answer = chaosagent("search", "study.yaml", "--task", "records", "--json")
    page = chaosagent("search", "study.yaml", "--task", "records").out

    assert "service.late_duplicate" in answer.json["not_tried"]
    assert not {name for name in answer.json["not_tried"] if not name.startswith("service.")}
    assert "Not tried, as these operators are off by default: service.false_success, " in page
    report = chaosagent("report", answer.json["out"], "--json").json
    assert report["not_tried"] == answer.json["not_tried"], "the page counts as the terminal does"
    assert "service.lost_response" not in report["not_tried"]


@pytest.mark.slow
def test_a_hang_under_a_fault_is_a_counterexample_by_real_time(chaosagent: Command, folder: Path) -> None:
    study = folder / "study.yaml"
    study.write_text(STUDY.replace("{steps: 20}", "{wall_seconds: 1.5}"), encoding="utf-8")
    options = ("study.yaml", "--task", "hangs", "--executor", "process", "--workers", "1")

    answer = chaosagent("search", *options, "--json")

    found = searches(answer)
    (counterexample,) = answer.json["counterexamples"]
    assert answer.code == 1
    assert (counterexample["contract"], counterexample["confirmed"]) == ("termination", True)
    assert (counterexample["certified"], found["termination"]["by_real_time"]) == (False, True)
    assert found["at-most-once"]["lower_bound"] == 1.1
    assert not found["at-most-once"]["safe"]
    record = counterexample["record"]
    assert "not known: the worker process was ended" in chaosagent("show", record).out
    assert chaosagent("replay", record).code == 1
    assert chaosagent("replay", record, "--mode", "exact").code == 3
    (folder / "agent.py").write_text(AGENT.replace("while True:", "while False:"), encoding="utf-8")
    for name in [name for name in sys.modules if name.startswith("chaosagent_file_")]:
        del sys.modules[name]  # as another process would not know the agent of before
    fixed = chaosagent("replay", record, "--json")
    assert [one["outcome"] for one in fixed.json["records"]] == ["HELD"]


@target
async def slow(task: object, run: object) -> str:
    """Wait until somebody has noticed."""
    del task, run
    NOTICED.wait(60.0)
    return "done"


class _Noticed:
    """What the executor says, and who waits for it."""

    def __init__(self) -> None:
        self._event, self.texts = threading.Event(), list[str]()

    def wait(self, seconds: float) -> None:
        self._event.wait(seconds)

    def say(self, text: str) -> None:
        self.texts.append(text)
        self._event.set()


NOTICED = _Noticed()


def test_in_this_process_a_run_that_takes_too_long_can_only_be_told() -> None:
    bench = Workbench(slow, slow.config("default"), (), RunLimits(wall_seconds_max=0.05))
    executor = InlineExecutor(bench, NOTICED.say)
    executor.submit(0, Job("default", 0, EMPTY))

    told = executor.next_finished().evaluation

    executor.close()
    assert told.ending.value == "finished"
    (text,) = NOTICED.texts
    assert "longer than 0.05 s of real time (run.wall_seconds)" in text
    assert "without injections. --executor process ends such runs" in text


FORGETFUL = """
from chaosagent import Outcome, effect, target


@target
async def agent(task, run):
    pay = run.service("pay", {"pay": lambda order: order}, effects={"pay": effect("order")})
    short = 0
    for name in ("a", "b", "c"):
        answer = await run.service(name, {"get": lambda: [1, 2, 3]}, read_only=True)("get")
        short += isinstance(answer, list) and len(answer) < 3
        run.checkpoint(name, None, clock_matters=False, artifacts_matter=False)
    for _ in range(2 if short == 3 else 1):
        await pay("pay", order="A")
    return Outcome("paid", success=True)
"""
LISTS = "{operator: service.partial_response, share: [0.5], interfaces: ['service:a', 'service:b', 'service:c']}"


def test_a_variable_that_checkpoints_forget_is_named_where_it_made_a_proof_wrong(
    folder: Path, chaosagent: Command
) -> None:
    (folder / "forgetful.py").write_text(FORGETFUL, encoding="utf-8")
    study = f"target: forgetful.py:agent\ncontracts: [at-most-once]\nbudget: 4\noperators: [{LISTS}]\n"
    (folder / "forgetful.yaml").write_text(study, encoding="utf-8")

    page = chaosagent("search", "forgetful.yaml", "--searcher", "exact").out

    assert "The audit contradicted rule R3" in page
    assert "Checkpoints of the target do not declare short in agent" in " ".join(page.split())


CRASHING = """
from chaosagent import Outcome, target


@target
async def agent(task, run):
    for name in ("a", "b"):
        answer = await run.service(name, {"get": lambda: {"price": 5}}, read_only=True)("get")
        if not isinstance(answer, dict) or answer["price"] is None:
            raise KeyError("price")
    return Outcome("paid", success=True)
"""
OWN = """
from chaosagent import contract


@contract("says-paid", at_end=True)
def says_paid(end):
    return end.outcome.message != "broken"
"""


def test_runs_that_a_contract_cannot_judge_are_counted_once_and_explained(folder: Path, chaosagent: Command) -> None:
    (folder / "crashing.py").write_text(CRASHING + OWN, encoding="utf-8")
    study = "target: crashing.py:agent\ncontracts: [crashing.py:says_paid]\nbudget: 2.2\n"
    (folder / "crashing.yaml").write_text(study, encoding="utf-8")

    page = chaosagent("search", "crashing.yaml").out
    certificate = chaosagent("search", "crashing.yaml", "--json").json["searches"][0]["certificate"]

    assert "One search could not judge some runs, so nothing is proved beyond the cost of the cheapest of them." in page
    assert "let it look at `end.outcome.state`" in " ".join(page.split())
    assert "no violation in the -" not in certificate
    assert "no violation in the " in certificate


PATIENT = """
from chaosagent import Outcome, target


@target
async def agent(task, run):
    for name in ("a", "b"):
        try:
            await run.service(name, {"get": lambda: {"price": 5}}, read_only=True)("get")
        except ConnectionError:
            await run.clock.sleep(30)
        run.checkpoint(name, None, clock_matters=False, artifacts_matter=False)
    return Outcome("paid", success=True)
"""


def test_a_rule_that_a_limit_switches_off_is_reported_with_the_limit_and_the_value_to_raise_it_to(
    folder: Path, chaosagent: Command
) -> None:
    (folder / "patient.py").write_text(PATIENT, encoding="utf-8")
    operators = "operators: [{operator: service.lost_response, when: [before]}]"
    study = f"target: patient.py:agent\ncontracts: [no-crash]\nbudget: 2.3\n{operators}\nrun: {{virtual_seconds: %s}}\n"
    (folder / "near.yaml").write_text(study % 100, encoding="utf-8")
    (folder / "far.yaml").write_text(study % 310, encoding="utf-8")

    near = " ".join(chaosagent("search", "near.yaml", "--searcher", "exact", "--out", "near").out.split())
    far = chaosagent("search", "far.yaml", "--searcher", "exact", "--out", "far").out

    assert "Rule R3 was switched off in one search: a run used 30 % of run.virtual_seconds" in near
    assert "To keep it, raise run.virtual_seconds to 310." in near
    assert "Rule R3" not in far
