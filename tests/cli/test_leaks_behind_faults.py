"""What only a fault brings to light: a cache, the order of a set, the clock, a counter, an address. Nothing is proved.

It decides what a payment says, only behind the fault of one read.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chaosagent.execution.workers.second_process import HASH_SEEDS

Command = Callable[..., Any]

AGENT = """
import time

from chaosagent import Outcome, Task, effect, fresh, target

CACHE = {{}}
RUNS = []


class Parcel:
    pass


{decorator}
async def agent(task, run):
    RUNS.append(None)
    orders = run.service("orders", {{"find": lambda: "o1"}}, read_only=True)
    bank = run.service("bank", {{"pay": lambda note: 1}}, effects={{"pay": effect()}})
    try:
        note = await orders("find")
    except Exception:
        note = {note}
    CACHE["order"] = "o1"
    await bank("pay", note=str(note))
    return Outcome("paid", success=True)
"""
STUDY = """target: agent.py:agent
contracts: [at-most-once]
budget: 1.2
operators:
  - operator: service.error_status
    status: [500, 503]
    when: before
"""
TARGET = "@target(tasks=[Task('t')])"
LEAKS = {
    "cache": ('CACHE.get("order", "cold")', r"runs change CACHE in agent.py"),
    "hash order": ('list({"alpha", "beta", "gamma", "delta", "epsilon", "zeta"})', r"the order of a set"),
    "wall clock": ("time.time_ns()", r"the wall clock: time.time_ns\(\) at agent.py"),
    "run counter": ("len(RUNS)", r"runs change .*RUNS in agent.py"),
    "address": ("repr(Parcel())", r"the address in the default repr of an object"),
}


@pytest.fixture(autouse=True)
def one_cold_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let there be three processes; starting the eight that users have takes seven seconds."""
    monkeypatch.setattr("chaosagent.study.determinism.cold_repeats.HASH_SEEDS", 3)
    monkeypatch.setattr("chaosagent.replays.cold_runs.HASH_SEEDS", 3)


@pytest.fixture(autouse=True)
def no_cold_repeats() -> None:
    """Let there be repeats in them."""


def written(folder: Path, note: str, decorator: str = TARGET, study: str = STUDY) -> None:
    """Write the agent and its study."""
    (folder / "agent.py").write_text(AGENT.format(note=note, decorator=decorator), encoding="utf-8")
    (folder / "study.yaml").write_text(study, encoding="utf-8")


def cases() -> list[Any]:
    """Return each leak with each executor; with Ray's workers, which start slowly, one is enough."""
    ray = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs the extra `ray`")
    local = [pytest.param(leak, executor) for leak in LEAKS for executor in ("inline", "process")]
    return [*local, pytest.param("cache", "ray", marks=[pytest.mark.slow, ray])]


@pytest.mark.parametrize(("leak", "executor"), cases())
def test_nothing_is_proved_and_the_cause_is_named(chaosagent: Command, folder: Path, leak: str, executor: str) -> None:
    note, cause = LEAKS[leak]
    written(folder, note)

    found = chaosagent("search", "study.yaml", "--executor", executor, "--workers", 2, "--json")

    assert found.code == 3
    assert found.json["searches"]
    assert not any(search["safe"] or search["certified"] for search in found.json["searches"])
    (diverged,) = found.json["unlike"]
    assert re.search(f"Likely cause: .*{cause}", diverged), diverged


@pytest.mark.parametrize(
    ("decorator", "study"),
    [("@fresh\n@target(tasks=[Task('t')])", STUDY), (TARGET, f"{STUDY}fresh: true\n")],
    ids=["of the target", "of the study"],
)
def test_with_a_process_for_each_run_a_cache_does_no_harm(
    chaosagent: Command, folder: Path, decorator: str, study: str
) -> None:
    written(folder, LEAKS["cache"][0], decorator, study)

    inline = chaosagent("search", "study.yaml", "--json", "--out", "a")
    others = chaosagent("search", "study.yaml", "--executor", "process", "--workers", 2, "--json", "--out", "b")

    assert inline.code == others.code == 0
    assert inline.json["digest"] == others.json["digest"]
    assert all(search["safe"] for search in inline.json["searches"])
    assert "repeats in processes of their own" in inline.json["searches"][0]["certificate"]
    assert "runs change CACHE in agent.py" in inline.json["searches"][0]["certificate"]


def test_a_target_that_starts_a_thread_when_it_is_loaded_cannot_have_a_process_for_each_run(
    chaosagent: Command, folder: Path
) -> None:
    written(folder, "1", study=f"{STUDY}fresh: true\n")
    text = (folder / "agent.py").read_text("utf-8")
    thread = "import threading\nthreading.Thread(target=threading.Event().wait, args=(3,), name='mine').start()\n"
    (folder / "agent.py").write_text(f"{thread}{text}", encoding="utf-8")

    refused = chaosagent("search", "study.yaml")

    assert refused.code == 4
    assert "starts a thread while it is loaded (mine)" in refused.err
    assert "leave out `fresh: true`" in refused.err


def test_the_cost_of_these_repeats_is_told_apart(chaosagent: Command, folder: Path) -> None:
    written(folder, '"another"')

    found = chaosagent("search", "study.yaml")

    assert found.code == 0
    assert "runs repeated in processes of their own in" in " ".join(found.out.split())


REMEMBERS = """
from chaosagent import Effect, Outcome, Task, fresh, target

PAID = []


{decorator}
async def agent(task, run):
    def pay(note):
        return 1

    effects = {{"pay": lambda asked, answer: Effect("pay", asked)}}
    bank = run.service("bank", {{"pay": pay}}, effects=effects, stale=lambda *_: 1)
    try:
        await bank("pay", note="once")
    except Exception:
        if not PAID:  # which an earlier run may have filled
            await bank("pay", note="once")
    PAID.append(1)
    return Outcome("paid", success=True)
"""


@pytest.mark.parametrize("where", ["target", "study"])
def test_a_replay_gives_each_run_a_process_of_its_own_too(chaosagent: Command, folder: Path, where: str) -> None:
    decorator = "@fresh\n@target(tasks=[Task('t')])" if where == "target" else TARGET
    (folder / "agent.py").write_text(REMEMBERS.format(decorator=decorator), encoding="utf-8")
    study = "target: agent.py:agent\ncontracts: [at-most-once]\nbudget: 1.2\noperators: [service.lost_response]\n"
    (folder / "study.yaml").write_text(study + ("fresh: true\n" if where == "study" else ""), encoding="utf-8")

    assert chaosagent("search", "study.yaml", "--out", "found").code == 1
    replayed = chaosagent("replay", "found/replays", "--mode", "both")

    assert replayed.code == 1, replayed.out  # in one process the run without faults would hide what breaks
    assert "VIOLATED" in replayed.out
    assert "REPRODUCED" in replayed.out


COUNTS = """
from chaosagent import Outcome, Task, effect, fresh, target

RUNS = []
SEEN = set()


{decorator}
async def agent(task, run):
    RUNS.append(1)
    first = not SEEN
    SEEN.add(task.id)
    bank = run.service("bank", {{"pay": lambda note: 1}}, effects={{"pay": effect()}})
    await bank("pay", note=f"{{{kept}}}")
    return Outcome("paid", success=True)
"""


@pytest.mark.parametrize("command", [("search", "study.yaml"), ("doctor", "agent.py:agent")], ids=["search", "doctor"])
@pytest.mark.parametrize(
    ("kept", "name"),
    [("len(RUNS)", "RUNS"), ("min(len(RUNS), 2)", "RUNS"), ("first", "SEEN")],
    ids=["in each run", "in the first two runs", "in the first run"],
)
def test_a_target_that_counts_its_runs_is_refused_and_the_variable_named(
    chaosagent: Command, folder: Path, kept: str, name: str, command: tuple[str, str]
) -> None:
    written(folder, "1")
    (folder / "agent.py").write_text(COUNTS.format(decorator=TARGET, kept=kept), encoding="utf-8")

    refused = chaosagent(*command)

    assert refused.code == (4 if command[0] == "search" else 1)
    told = " ".join((refused.out + refused.err).split())
    assert re.search(rf"Likely cause: .*runs change .*{name} in agent.py", told), told
    assert "`@chaosagent.fresh` above the target, or for a search `fresh: true` in the study file" in told


@pytest.mark.parametrize(("decorator", "options"), [(f"@fresh\n{TARGET}", ()), (TARGET, ("--fresh",))])
def test_the_doctor_says_ready_once_the_remedy_is_taken(
    chaosagent: Command, folder: Path, decorator: str, options: tuple[str, ...]
) -> None:
    (folder / "agent.py").write_text(COUNTS.format(decorator=decorator, kept="len(RUNS)"), encoding="utf-8")

    assert chaosagent("doctor", "agent.py:agent", *options).code == 0


BREAKER = """
from chaosagent import Outcome, Task, effect, target


class Breaker:
    failures = 0


BREAKER = Breaker()


@target(tasks=[Task("t")])
async def agent(task, run):
    orders = run.service("orders", {"find": lambda: "o1"}, read_only=True)
    bank = run.service("bank", {"pay": lambda note: 1}, effects={"pay": effect()})
    note = "unknown"
    while BREAKER.failures < 3:
        try:
            note = await orders("find")
            break
        except Exception:
            BREAKER.failures += 1
    await bank("pay", note=note)
    return Outcome("paid", success=True)
"""


def test_a_circuit_breaker_that_stays_open_is_named_and_no_operator_is_blamed(
    chaosagent: Command, folder: Path
) -> None:
    written(folder, "1", study=STUDY.replace("1.2", "2.4"))
    (folder / "agent.py").write_text(BREAKER, encoding="utf-8")

    found = chaosagent("search", "study.yaml", "--json")

    assert not any(search["safe"] or search["certified"] for search in found.json["searches"])
    (diverged,) = found.json["unlike"]
    assert "runs change BREAKER in agent.py" in diverged
    assert "an operator that acts" not in diverged


IN_THE_OUTCOME = {
    "address": ('f"{object()}"', "the address of an object"),
    "entropy in a third of runs": (
        "random.SystemRandom().random() < 0.3",
        r"random numbers not drawn from run.rng\(label\): random.random\(\) at agent.py",
    ),
    "clock in a third of runs": (
        "time.perf_counter_ns() // 7 % 10 < 3",
        r"the wall clock: time.perf_counter_ns\(\) at agent.py",
    ),
    "attribute of sys": ('vars(sys).update(runs=vars(sys).get("runs", 0) + 1) or sys.runs', r"runs change .*sys.runs"),
}


@pytest.mark.parametrize("leak", list(IN_THE_OUTCOME))
def test_the_cause_is_named_where_only_the_outcome_shows_the_difference(
    chaosagent: Command, folder: Path, leak: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    note, cause = IN_THE_OUTCOME[leak]
    if "a third of runs" in leak:  # fewer repeats may all happen to be equal
        monkeypatch.setattr("chaosagent.study.determinism.cold_repeats.HASH_SEEDS", HASH_SEEDS)
    written(folder, note)
    source = (
        (folder / "agent.py").read_text("utf-8").replace("import time\n", "import random\nimport sys\nimport time\n")
    )
    source = source.replace("note=str(note)", 'note=""').replace('Outcome("paid"', 'Outcome(f"paid {note}"')
    (folder / "agent.py").write_text(source, encoding="utf-8")

    found = chaosagent("search", "study.yaml", "--json")

    assert not any(search["safe"] or search["certified"] for search in found.json["searches"])
    (diverged,) = found.json["unlike"]
    assert re.search(f"Likely cause: .*{cause}", diverged), diverged
    assert "the order of a set, or" not in diverged
    assert "an operator that acts" not in diverged
