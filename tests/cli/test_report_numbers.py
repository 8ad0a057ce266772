"""Every number on the page is that of `chaosagent report --json`, and that is what the search itself printed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("jinja2", reason="needs the extra `report`")

Command = Callable[..., Any]
Json = Mapping[str, Any]
Rows = list[tuple[str, ...]]
TEAM = '''
import random

from chaosagent import Outcome, SystemConfig, Task, effect, target

CONFIGS = [SystemConfig(name, {"retry": name != "careful", "chance": name == "chance"}) for name in
           ("hasty", "careful", "chance")]


@target(tasks=[Task("a", input=1), Task("broken", input=3)], configs=CONFIGS)
async def team(task, run):
    """Reads an order as planner, pays as clerk, and pays again where nothing comes back."""
    settings = run.config.settings
    crm = run.service("crm", {"read": lambda order: {"order": order}}, read_only=True)
    bank = run.service("bank", {"pay": lambda order: order}, effects={"pay": effect("order")})
    if settings["chance"]:
        model = run.model("assistant", {"chat": lambda prompt: {"content": str(random.random()), "tool_calls": []}})
        await model("chat", prompt="plan")
    with run.agent("planner", role="plans"):
        try:
            order = (await crm("read", order=task.input))["order"]
        except (ConnectionError, TimeoutError):
            order = 0
            await bank("pay", order=order)
    with run.agent("clerk", role="acts"):
        for _ in range(2 if settings["retry"] else 1):
            try:
                await bank("pay", order=order)
                break
            except (ConnectionError, TimeoutError):
                await run.clock.sleep(1)
        if task.id == "broken":
            await bank("pay", order=order + 1)
    return Outcome("paid", success=order == task.input and task.id != "broken")
'''
STUDY = """target: agent.py:team
contracts: [at-most-once, no-extra-effects, objective]
budget: 2.2
seeds: [0, 1]
operators:
  - {operator: service.lost_response, when: after}
  - {operator: service.error_status, status: 503, when: before, interfaces: [service:crm]}
search: {all_minimal: ALL, trials: TRIALS}
"""
KINDS = [
    pytest.param("hasty", "true", 900, id="all minimal"),
    pytest.param("hasty", "false", 6, id="cut short"),
    pytest.param("careful", "false", 900, id="careful", marks=pytest.mark.slow),
    pytest.param("chance", "false", 40, id="by chance", marks=pytest.mark.slow),
]


class Tables(HTMLParser):
    """The rows of each table of a page below its header, by the name of the region or the caption."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: dict[str, Rows] = {}
        self.heads: dict[str, list[str]] = {}
        self._region, self._cells, self._open, self._is_head = "", [""], False, False
        self.feed(re.sub(r"<caption>.*?</caption>", "", text, flags=re.DOTALL))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in ("div", "section"):
            self._region = given.get("aria-label") or ""
        elif tag in ("thead", "tbody"):
            self._is_head = tag == "thead"
        elif tag == "tr":
            self._cells = []
        elif tag in ("td", "th"):
            self._cells.append("")
            self._open = True

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self._open = False
        elif tag == "tr" and self._is_head:
            self.heads[self._region] = self._cells
        elif tag == "tr":
            self.rows.setdefault(self._region, []).append(tuple(cell.strip() for cell in self._cells))

    def handle_data(self, data: str) -> None:
        if self._open:
            self._cells[-1] += data


def cells_in(tables: Tables, region: str) -> dict[tuple[str, str], str]:
    head = tables.heads.get(region, [])[1:]
    return {
        (row[0], column): text
        for row in tables.rows.get(region, [])
        for column, text in zip(head, row[1:], strict=True)
        if text
    }


def texts_of(heat: list[Json] | None, down: str, across: str) -> dict[tuple[str, str], str]:
    return {(one[down], one[across]): one["text"] for one in heat or ()}


def costs_of(heat: list[Json] | None, down: str, across: str) -> dict[tuple[str, str], float]:
    return {(one[down], one[across]): one["cost"] for one in heat or () if one["cost"] is not None}


def least(found: list[tuple[tuple[str, str], float]]) -> dict[tuple[str, str], float]:
    costs: dict[tuple[str, str], float] = {}
    for key, cost in found:
        costs[key] = min(cost, costs.get(key, cost))
    return costs


@pytest.mark.parametrize(("config", "several", "trials"), KINDS)
def test_page_report_and_search_have_the_same_numbers(
    chaosagent: Command, folder: Path, config: str, several: str, trials: int
) -> None:
    (folder / "agent.py").write_text(TEAM, encoding="utf-8")
    study = STUDY.replace("ALL", several).replace("TRIALS", str(trials))
    (folder / "study.yaml").write_text(study, encoding="utf-8")

    found = chaosagent("search", "study.yaml", "--config", config, "--out", "out", "--json").json
    told = chaosagent("report", "out", "--json").json

    assert_page_equals_report((folder / "out" / "report.html").read_text("utf-8"), told)
    assert_report_equals_search(told, found)
    assert found["errors"] == 0
    assert any(one["violated_nominally"] for one in found["searches"])
    assert (found["stochastic"] is not None) == (config == "chance")
    assert bool(found["counterexamples"]) or config == "careful"


def assert_page_equals_report(page: str, told: Json) -> None:
    tables = Tables(page)

    for region, name, down, across in (
        ("Task and contract", "task_contract", "task", "contract"),
        ("Agent and contract", "agent_contract", "agent", "contract"),
        ("Operator and interface", "interface_operator", "interface", "operator"),
    ):
        assert cells_in(tables, region) == texts_of(told[name], down, across)
        written = {key: text for key, text in cells_in(tables, region).items() if re.fullmatch(r"[\d.]+", text)}
        assert written == {key: f"{cost:g}" for key, cost in costs_of(told[name], down, across).items() if cost}
    assert tables.rows.get("What each search proved", []) == [
        (one["task"], one["contract"], str(one["seed"]), one["text"]) for one in told["certificates"]
    ]
    assert tables.rows.get("By task", []) == [
        (one["task"], f"{one['searches']}", f"{one['broken']}", f"{one['trials']:,}", one["proved_below"])
        for one in told["by_task"]
    ]
    assert tables.rows.get("Violation profile", []) == [
        (
            one["contract"],
            one["agent"] or "-",
            one["role"] or "-",
            one["call"] or "how the run ends",
            f"{one['first_step']}" + (f" to {one['last_step']}" if one["last_step"] != one["first_step"] else ""),
            f"{one['counterexamples']}",
            f"{one['cost']:g}",
        )
        for one in told["violation_profile"]
    ]
    assert sorted(tables.rows.get("Counterexamples", [])) == sorted(
        (one["id"], one["contract"], one["task"], f"{one['seed']}", f"{one['cost']:g}", one["proof"], one["schedule"])
        for one in told["counterexamples"]
    )
    cards = [dict(re.findall(r"<dt>([^<]*)</dt><dd>([^<]*)</dd>", card)) for card in page.split("<article ")[1:]]
    assert [card.get("runs that failed this way") for card in cards] == [
        None if one["failing_runs"] is None else f"{one['failing_runs']:,}" for one in told["causes"]
    ]
    assert [float(cost) for cost in re.findall(r'<span class="cost">([^<]*)<', page)] == [
        one["cost"] for one in told["causes"]
    ]
    standings = re.findall(r'<li><b class="[^"]*">(\d+)</b><span>of [\w-]+ search', page)
    assert list(map(int, standings)) == list(told["standings"].values())
    assert len(re.findall(r"<tr><td>[\d.]+</td><td>[\d.]+ %</td><td>[\d.]+ %</td>", page)) == len(told["curve"])


def assert_report_equals_search(told: Json, found: Json) -> None:
    costs = {one["id"]: one["cost"] for one in found["counterexamples"]}
    searched = {(one["task"], one["contract"]) for one in found["searches"]}

    assert {(one["task"], one["seed"], one["contract"]): one["text"] for one in told["certificates"]} == {
        (one["task"], one["seed"], one["contract"]): one["certificate"] for one in found["searches"]
    }
    for name in ("trials", "level", "lower_bound", "certified", "safe", "violated_nominally"):
        assert [one[name] for one in told["certificates"]] == [one[name] for one in found["searches"]], name
    assert costs_of(told["task_contract"], "task", "contract") == least(
        [
            ((one["task"], one["contract"]), 0.0 if one["violated_nominally"] else costs[one["counterexample"]])
            for one in found["searches"]
            if one["violated_nominally"] or one["counterexample"]
        ]
    )
    proved = {key for key, text in texts_of(told["task_contract"], "task", "contract").items() if "proved" in text}
    assert proved == {
        pair
        for pair in searched
        if all(one["safe"] for one in found["searches"] if (one["task"], one["contract"]) == pair)
    }
    assert costs_of(told["interface_operator"], "interface", "operator") == least(
        [
            ((interface, operator), one["cost"])
            for one in found["counterexamples"]
            for interface, operator in re.findall(r"(\w+:\w+)\[[^\]]*\]\S* ([\w.]+)", one["schedule"])
        ]
    )
    if told["agent_contract"] is not None:
        assert costs_of(told["agent_contract"], "agent", "contract") == least(
            [
                ((one["agent"] or "nobody: how the run ended", one["contract"]), one["cost"])
                for one in found["counterexamples"]
            ]
        )
    for row in told["violation_profile"]:
        same = [
            one
            for one in found["counterexamples"]
            if (one["contract"], one["agent"] or "") == (row["contract"], row["agent"])
        ]
        assert row["first_step"] >= min(one["step"] for one in same)
        assert row["last_step"] <= max(one["step"] for one in same)
    assert sum(row["counterexamples"] for row in told["violation_profile"]) == len(found["counterexamples"])
    for one in told["by_task"]:
        mine = [search for search in found["searches"] if search["task"] == one["task"]]
        assert (one["searches"], one["trials"]) == (len(mine), sum(search["trials"] for search in mine))
        assert one["broken"] == sum(search["violated_nominally"] or bool(search["counterexample"]) for search in mine)
    for name in ("contract", "task", "seed", "cost", "schedule"):
        assert {one["id"]: one[name] for one in told["counterexamples"]} == {
            one["id"]: one[name] for one in found["counterexamples"]
        }
    assert {one["id"] for one in told["counterexamples"] if one["proof"] == "certified"} == {
        one["id"] for one in found["counterexamples"] if one["certified"]
    }
    pairs = zip(told["causes"], found["causes"], strict=True)
    assert [{**cause, **grouped} for cause, grouped in pairs] == told["causes"]
