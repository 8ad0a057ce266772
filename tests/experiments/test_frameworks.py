"""The desks of the frameworks: what the study of each finds, and that the repaired version of each holds."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import chaosagent.experiments
from chaosagent.cli.main import main
from chaosagent.experiments import lost_parcel
from chaosagent.replays.store import read_record
from tests.thorough import IS_THOROUGH

EXPERIMENTS = Path(chaosagent.experiments.__path__[0])
ADDED_LINES_MAX = 10
"""More lines than these no desk may need to be tested."""


@dataclass(frozen=True, slots=True)
class Desk:
    """One of the examples.

    Attributes:
        folder: Its folder, which is also the name of the marker of its tests.
        package: What must be installed.
        found: How many counterexamples break which contract of which task, and what the cheapest costs.
        schedules: Some of them.
        added_line_count: How many lines of a desk that serves `lost_parcel` are there for the doors.
        part: Options for the part of its study in which the careful version is searched each time.
        target: Its target, where its trace is compared with that of another process.
        is_proved: Whether all costs are certified to be the least.
    """

    folder: str
    package: str
    found: Mapping[str, tuple[int, float]]
    schedules: frozenset[str] = frozenset()
    added_line_count: int = 0
    part: tuple[str, ...] = ()
    target: str = ""
    is_proved: bool = False

    @property
    def study(self) -> Path:
        """Its study file."""
        return EXPERIMENTS / self.folder / "study.yaml"


LOST_PARCEL = (
    Desk(
        "autogen",
        "autogen_agentchat",
        {
            "lost-parcel-at-most-once": (3, 1.1),
            "lost-parcel-no-crash": (7, 1.1),
            "lost-parcel-promises-kept": (1, 1.1),
        },
        added_line_count=5,
    ),
    Desk("crewai", "crewai", {"lost-parcel-at-most-once": (10, 1.05)}, added_line_count=4),
    Desk(
        "pydantic_ai",
        "pydantic_ai",
        {
            "lost-parcel-all-or-nothing": (2, 1.1),
            "lost-parcel-at-most-once": (8, 1.05),
            "lost-parcel-no-crash": (6, 1.05),
        },
        added_line_count=8,
    ),
    Desk(
        "smolagents",
        "smolagents",
        {"lost-parcel-at-most-once": (5, 1.025), "lost-parcel-no-crash": (5, 1.1)},
        added_line_count=4,
    ),
)
LANGGRAPH = Desk(
    "langgraph",
    "langgraph",
    {
        "asked-twice-at-most-once": (4, 1.05),
        "asked-twice-promises-kept": (1, 1.1),
        "once-at-most-once": (2, 1.05),
        "once-no-ghosts": (1, 1.075),
        "once-promises-kept": (1, 1.1),
    },
    frozenset(
        {
            "message:handoffs[1]@desk message.duplicate",
            "message:handoffs[1]@desk message.drop",
            "memory:store[2]@desk memory.lost_update",
            "service:refund[1]@clerk service.timeout(seconds=30.0, when=after)",
            "model:chat[3]@desk model.malformed_tool_call(kind=truncated_json)",
        }
    ),
    part=("--task", "once"),
)
COMPARED = (
    Desk(
        "openai_agents",
        "agents",
        {
            "late-parcel-no-crash": (1, 1.05),
            "late-parcel-at-most-once": (1, 1.1),
            "late-parcel-all-or-nothing": (1, 2.15),
            "late-parcel-no-ghosts": (1, 2.2),
        },
        part=("--budget", "1.2"),
        target="chaosagent.experiments.openai_agents.target:desk",
        is_proved=True,
    ),
    Desk(
        "mcp",
        "mcp",
        {
            "due-no-crash": (1, 1.025),
            "due-all-or-nothing": (1, 1.025),
            "due-at-most-once": (1, 1.1),
            "due-no-ghosts": (1, 2.2),
            "too-much-no-crash": (1, 1.025),
            "too-much-no-extra-effects": (1, 1.1),
            "too-much-at-most-once": (1, 2.2),
        },
        part=("--budget", "1.2"),
        target="chaosagent.experiments.mcp.target:clerk",
        is_proved=True,
    ),
)
DESKS = (*LOST_PARCEL, LANGGRAPH, *COMPARED)


def _needing(desks: Iterable[Desk]) -> list[Any]:
    """Return desks as parameters, each marked with what it needs."""
    return [pytest.param(desk, id=desk.folder, marks=_marks(desk)) for desk in desks]


def _marks(desk: Desk) -> list[pytest.MarkDecorator]:
    marks = [
        getattr(pytest.mark, desk.folder),
        pytest.mark.slow,
        pytest.mark.skipif(find_spec(desk.package) is None, reason=f"needs {desk.package}"),
    ]
    if desk.folder == "crewai":
        marks.append(pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ImportWarning"))
    return marks


@pytest.fixture(scope="module", params=_needing(DESKS))
def searched(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Desk, Path]:
    """Search a desk, which must find something; return it with the folder of the records."""
    desk, out = request.param, tmp_path_factory.mktemp("study") / "out"
    assert main(["search", str(desk.study), "--out", str(out)]) == 1
    return desk, out / "replays"


def test_the_weaknesses_follow_from_the_defaults_of_the_framework(searched: tuple[Desk, Path]) -> None:
    desk, records = searched

    costs: dict[str, list[float]] = {}
    schedules, proved = set(), True
    for path in records.iterdir():
        record = read_record(path)
        proved &= record.proof.certified
        costs.setdefault(re.sub(r"-[0-9a-f]{12}$", "", path.stem), []).append(round(record.cost, 3))
        schedules.add(str(record.schedule))

    assert {name: (len(found), min(found)) for name, found in costs.items()} == desk.found
    assert desk.schedules <= schedules
    assert proved or not desk.is_proved


@pytest.mark.parametrize(("options", "outcome"), [(["--mode", "exact"], "REPRODUCED"), (["--config", "fixed"], "HELD")])
def test_every_record_is_reproduced_and_held_by_the_careful_version(
    searched: tuple[Desk, Path], options: list[str], outcome: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()

    assert main(["replay", *options, str(searched[1]), "--json"]) == 0

    printed = capsys.readouterr().out
    assert {record["outcome"] for record in json.loads(printed[printed.index("{") :])["records"]} == {outcome}


@pytest.mark.parametrize("desk", _needing(DESKS))
def test_nothing_in_the_space_breaks_the_careful_version(desk: Desk, tmp_path: Path) -> None:
    part = () if IS_THOROUGH else desk.part

    assert main(["search", str(desk.study), "--config", "fixed", "--out", str(tmp_path / "out"), *part]) == 0


@pytest.mark.parametrize("desk", _needing(COMPARED))
def test_the_trace_is_the_same_in_another_process(desk: Desk) -> None:
    script = (
        "from chaosagent.execution.execute import Experiment, execute\n"
        "from chaosagent.faults.schedule import EMPTY\n"
        "from chaosagent.targets.loading import load_target\n"
        f"desk = load_target({desk.target!r})\n"
        "for config in desk.configs.values():\n"
        "    experiment = Experiment(desk, next(iter(desk.tasks.values())), config, seed=1)\n"
        "    print(execute(experiment, EMPTY).trace.digest)\n"
    )
    printed = [
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "77")
    ]

    assert printed[0] == printed[1]
    assert len(printed[0].split()) == 2


@pytest.mark.parametrize("desk", LOST_PARCEL, ids=lambda desk: desk.folder)
def test_a_desk_needs_few_lines_more(desk: Desk) -> None:
    """In the desk and the target, with those that all desks share, and what a call commits."""
    folder = EXPERIMENTS / desk.folder
    shared = (EXPERIMENTS / "lost_parcel.py").read_text("utf-8")
    texts = [shared, *((folder / name).read_text("utf-8") for name in ("desk.py", "target.py"))]
    rule = shared.partition("def committed(")[2].partition("\n\n\n")[0].splitlines()

    added = sum(text.count("\n") - _without_added(text).count("\n") for text in texts)

    assert added == desk.added_line_count
    assert added + len([line for line in rule if not line.strip().startswith('"""')]) <= ADDED_LINES_MAX


@pytest.mark.parametrize("desk", _needing(LOST_PARCEL))
def test_a_desk_works_without_what_was_added(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"{desk.folder}_alone"
    (tmp_path / name).mkdir()
    for module in (EXPERIMENTS / desk.folder).glob("*.py"):
        text = _without_added(module.read_text("utf-8")).replace(f"chaosagent.experiments.{desk.folder}", name)
        (tmp_path / name / module.name).write_text(text, "utf-8")
        assert module.name not in ("desk.py", "target.py") or "chaosagent.adapters" not in text
    monkeypatch.syspath_prepend(str(tmp_path))
    alone = importlib.import_module(f"{name}.target")
    shop_of, shops = alone.Shop, list[lost_parcel.Shop]()

    def opened(careful: bool) -> lost_parcel.Shop:
        shops.append(shop_of(careful))
        return shops[-1]

    monkeypatch.setattr(alone, "Shop", opened)

    said = alone.converse(careful=False)
    said = asyncio.run(said) if inspect.iscoroutine(said) else said

    assert said == [lost_parcel.ON_ITS_WAY] * 2
    assert [(shop.refunds, shop.entries, len(shop.mails)) for shop in shops] == [(["A-17"], ["A-17"], 1)]


def _without_added(text: str) -> str:
    """Return the text of a module without the lines that are there for the doors."""
    return "".join(line for line in text.splitlines(keepends=True) if not line.rstrip().endswith("# added"))


NEEDS = {
    "autogen": "autogen",
    "crewai": "crewai",
    "langgraph": "langgraph",
    "ledger": "dev",
    "mcp": "mcp",
    "openai_agents": "openai-agents",
    "pydantic_ai": "pydantic-ai",
    "smolagents": "smolagents",
}
WITHOUT = """
import sys

class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name in ("agents", "autogen_agentchat", "crewai", "langchain", "mcp", "pydantic_ai", "redis", "smolagents"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Nothing())
from chaosagent.errors import MissingExtraError
from chaosagent.studyfile import load_study, plan_of
from pathlib import Path
for study in sys.argv[1:]:
    try:
        plan_of(load_study(Path(study)))
    except MissingExtraError as error:
        print(error.extra)
"""


@pytest.mark.slow
def test_an_example_without_its_framework_names_the_extra() -> None:
    studies = [str(EXPERIMENTS / folder / "study.yaml") for folder in NEEDS]

    ended = subprocess.run([sys.executable, "-c", WITHOUT, *studies], capture_output=True, text=True, check=True)

    assert ended.stdout.split() == list(NEEDS.values())
