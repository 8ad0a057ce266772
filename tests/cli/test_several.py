"""`chaosagent search --all-minimal` and `--signatures`: a list of weaknesses, and a record of each schedule."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

AGENT = '''
from chaosagent import Effect, Outcome, Task, target


@target(tasks=[Task("one"), Task("two")])
async def shop(task, run):
    """Pays and ships, each of them again when it does not hear; writes a note, which nobody minds."""
    for name in ("pay", "ship", "note"):
        kind = None if name == "note" else (lambda arguments, answer, name=name: Effect(name, {"order": 1}))
        effects = {} if kind is None else {"do": kind}
        service = run.service(name, {"do": lambda: "done"}, effects=effects)
        for _ in range(2):
            try:
                await service("do")
                break
            except ConnectionError:
                await run.clock.sleep(1)
        else:
            return Outcome("gave up", success=False)
    return Outcome("done", success=True)
'''
STUDY = """target: agent.py:shop
contracts: [at-most-once, objective, no-crash]
budget: 2.2
operators: [service.lost_response]
"""
Command = Callable[..., Any]


@pytest.fixture(autouse=True)
def shop(folder: Path) -> None:
    """Put an agent with several weaknesses into the folder."""
    (folder / "agent.py").write_text(AGENT, encoding="utf-8")
    (folder / "study.yaml").write_text(STUDY, encoding="utf-8")


@pytest.mark.slow
def test_weaknesses_are_listed_with_how_many_schedules_share_them(chaosagent: Command) -> None:
    answer = chaosagent("search", "study.yaml", "--all-minimal", "--out", "found")

    lines = answer.out.splitlines()
    assert answer.code == 1
    assert "Ten minimal counterexamples, two kinds of failure" in lines
    (first,) = [line for line in lines if line.startswith("  1  ")][:1]
    assert first.split()[:3] == ["1", "at-most-once", "service"]
    assert "high impact" in first
    assert " 2 " in first
    assert "one and 1 more" in first
    assert "  That is all there is up to cost 2.2 in the declared space" in answer.out
    assert answer.out.count("service:ship[1] service.lost_response(when=after)") >= 2
    assert ["no-crash", "-", "-", "2", "-"] in [line.split() for line in lines]


@pytest.mark.slow
def test_every_minimal_schedule_has_a_record_that_repeats(chaosagent: Command) -> None:
    found = chaosagent("search", "study.yaml", "--all-minimal", "--out", "found", "--json").json

    assert [(kind["contract"], kind["schedules"], kind["tasks"]) for kind in found["kinds"]] == [
        ("at-most-once", 2, ["one", "two"]),
        ("objective", 3, ["one", "two"]),
    ]
    assert (found["all_minimal"], found["signatures_wanted"]) == (True, None)
    assert all(search["complete"] and search["known_below"] is None for search in found["searches"])
    ids = [one["id"] for one in found["counterexamples"]]
    assert len(set(ids)) == len(ids) == 10
    assert sorted(ids) == sorted(one for search in found["searches"] for one in search["counterexamples"])
    assert all(Path(one["record"]).is_file() for one in found["counterexamples"])
    exact = chaosagent("replay", "--mode", "exact", "found/replays", "--json").json
    assert exact["totals"] == {"REPRODUCED": 10}
    assert len(chaosagent("show", "found/replays", "--json").json["records"]) == 10


@pytest.mark.slow
def test_one_is_the_default_and_several_may_be_wanted_later(chaosagent: Command) -> None:
    one = chaosagent("search", "study.yaml", "--out", "found", "--json").json
    refused = chaosagent("search", "study.yaml", "--out", "found", "--all-minimal")
    later = chaosagent("search", "study.yaml", "--out", "found", "--all-minimal", "--resume", "--json").json
    again = chaosagent("search", "study.yaml", "--out", "again", "--all-minimal", "--json").json

    assert all(len(search["counterexamples"]) <= 1 for search in one["searches"])
    assert all(search["complete"] is None for search in one["searches"])
    assert refused.code == 2
    assert "search.all_minimal: true instead of false" in refused.err
    assert later["digest"] == again["digest"]
    assert later["executions"] == again["executions"]
    assert [one["id"] for one in later["counterexamples"]] == [one["id"] for one in again["counterexamples"]]
    assert later["other_records"] == []
    assert {path.name for path in Path("found/replays").iterdir()} == {
        Path(one["record"]).name for one in again["counterexamples"]
    }


@pytest.mark.slow
def test_a_number_of_signatures_ends_a_search_and_is_told(chaosagent: Command) -> None:
    asked = ("search", "study.yaml", "--signatures", 1, "--task", "one", "--searcher", "exact")
    answer = chaosagent(*asked)
    data = chaosagent(*asked, "--json").json

    assert "Two minimal counterexamples, two kinds of failure" in answer.out
    assert "1 ended at one kind" in answer.out
    assert "In 1 of 3 searches that is all there is up to cost 2.2" in answer.out
    assert "ended at a limit" not in answer.out
    assert data["signatures_wanted"] == 1


def test_all_and_a_number_of_them_contradict_each_other(chaosagent: Command) -> None:
    answer = chaosagent("search", "study.yaml", "--signatures", 1, "--all-minimal")

    assert answer.code == 2
    assert "--all-minimal and --signatures: search.all_minimal is true and search.signatures is 1" in answer.err


@pytest.mark.slow
def test_a_limit_says_that_there_may_be_more(chaosagent: Command) -> None:
    answer = chaosagent("search", "study.yaml", "--all-minimal", "--task", "one", "--trials", 7)

    assert "ended at a limit. Give more with --trials and --resume" in answer.out
    assert "That is all there is" not in answer.out
    assert ", all known below " in answer.out
