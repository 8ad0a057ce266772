"""The README is true: its files are written, its commands are run, and they print what it says.

How a fenced block is read:

* `python title=PATH` and `yaml title=PATH` are files, `diff title=PATH` changes one.
* `console title=FOLDER` holds commands, each after `$ `, and below each what it prints. `# exit N` says that a command
  ends with another code than 0. A line `...` leaves lines out, `...` in a line leaves text out. Digests, and figures of
  work and speed, may differ.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from pydantic import BaseModel

from chaosagent.contracts.templates.defaults import default_contracts
from chaosagent.execution.untraced import UntracedRun
from chaosagent.experiments.benchmarks import certify
from chaosagent.replays.outcome import ReplayOutcome
from chaosagent.study.certificate import LEVELS
from chaosagent.studyfile.settings import CostSettings, RunSettings, SearchSettings, StudySettings
from chaosagent.vocabulary import Boundary, Task

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
FOLDERS = ("operators", "searchers", "replays", "experiments")
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / ".github").glob("*.md"),
        *(page for folder in FOLDERS for page in (ROOT / folder).rglob("*.md")),
    ]
)
FENCE = re.compile(r"^```(\w*)(?: title=(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)\)")
NOT_RUN_HERE = {
    "make demo": "installs packages; the command behind it, `chaosagent demo`, is run by tests/cli",
    "make test": "runs this test",
    "pip install 'chaosagent[all]'": "needs the network; tests/test_packaging.py builds the wheel and looks into it",
    "chaosagent search study.yaml --executor process --workers 8": "runs all night; see tests/cli/test_status.py",
    "chaosagent status study.yaml --watch": "tests/cli/test_status.py watches one",
    "chaosagent report chaosagent-out/desk": "needs the extra `report`; see tests/cli/test_report.py",
    "chaosagent search study.yaml --shard 1/2 --out part-1": "is run by tests/cli/test_shards.py",
    "chaosagent search study.yaml --shard 2/2 --out part-2": "the same",
    "chaosagent merge whole part-1 part-2": "the same",
    "chaosagent search study.yaml --resume --out whole": "the same",
    "chaosagent curve chaosagent-out/naive chaosagent-out/hardened": "tests/cli/test_curve.py draws some",
    "chaosagent curve chaosagent-out/naive --by category --random 20": "tests/cli/test_curve.py draws some",
    "chaosagent curve --over-time nights/*": "tests/cli/test_curve.py draws one",
    "chaosagent compare chaosagent-out/monday chaosagent-out/tuesday": "is run by tests/cli/test_compare.py",
    "chaosagent compare chaosagent-out/naive chaosagent-out/hardened --replay": "the same",
}
AGENT_LINES_MAX = 20
COMMAND_SECONDS_MAX = 600
# What may differ from day to day and from machine to machine, and what stands for it.
VARIES = re.compile(
    r"(?P<anything>\.\.\.)"
    r"|(?P<digest>(?<!\w)[0-9a-f]{12,16}(?!\w))"
    r"|(?P<count>[\d,]+(?= (?:trials|runs|executed|pruned|of the pruned)\b))"
    r"|(?P<seconds>\d+\.\d(?= s\b))"
    r"|(?P<gap>(?<=\S) {2,})"
)
STANDS_FOR = {
    "anything": ".*",
    "digest": "[0-9a-f]+",
    "count": r"[\d,]+",
    "seconds": r"\d+\.\d",
    "gap": " {2,}",
}


class Block(NamedTuple):
    """A fenced block: its language, its title, its text, and the line on which it begins."""

    kind: str
    title: str
    text: str
    line: int


class Command(NamedTuple):
    """A command, the code with which it ends, and the lines that it prints."""

    text: str
    exit_code: int
    printed: tuple[str, ...]


BLOCKS = [
    Block(found[1], found[2] or "", found[3], README.count("\n", 0, found.start()) + 1)
    for found in FENCE.finditer(README)
]


def commands(block: Block) -> Iterator[Command]:
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        first, *printed = part.rstrip("\n").split("\n")
        stated = re.search(r"# exit (\d+)", first)
        text = first.partition("  #")[0].rstrip()
        yield Command(text, int(stated[1]) if stated else 0, tuple(printed))


def pattern_of(printed: tuple[str, ...]) -> re.Pattern[str]:
    """Return what the whole output must match."""
    lines = [r"(?:.*\n)*?" if line == "..." else pattern_of_line(line) + r"\n" for line in printed]
    return re.compile("".join(lines) or r"(?:.*\n)*")


def pattern_of_line(line: str) -> str:
    pieces, at = [], 0
    for found in VARIES.finditer(line):
        pieces += [re.escape(line[at : found.start()]), STANDS_FOR[str(found.lastgroup)]]
        at = found.end()
    return "".join([*pieces, re.escape(line[at:])])


def changed(text: str, diff: str) -> str:
    """Apply a diff of one piece."""
    lines = diff.splitlines(keepends=True)
    before = "".join(line[1:] for line in lines if line[0] in " -")
    after = "".join(line[1:] for line in lines if line[0] in " +")
    assert text.count(before) == 1, f"the diff fits {text.count(before)} places:\n{diff}"
    return text.replace(before, after)


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    return subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=folder,
        env={**os.environ, "PATH": path, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        timeout=COMMAND_SECONDS_MAX,
        check=False,
    )


@pytest.mark.slow
def test_every_file_is_written_and_every_command_prints_what_stands_below_it(tmp_path: Path) -> None:
    for block in BLOCKS:
        place = tmp_path / block.title
        if block.kind == "console":
            for command in commands(block):
                if command.text in NOT_RUN_HERE:
                    continue
                done = run(command.text, place)
                where = f"README.md:{block.line}: `{command.text}`"
                told = f"{done.stdout}\n--- and on stderr\n{done.stderr}"
                assert done.returncode == command.exit_code, f"{where} ended with {done.returncode}:\n{told}"
                fits = pattern_of(command.printed).fullmatch(done.stdout)
                assert fits, f"{where} prints something else:\n{told}"
        elif block.kind == "diff":
            place.write_text(changed(place.read_text("utf-8"), block.text), "utf-8")
        else:
            place.parent.mkdir(exist_ok=True)
            place.write_text(block.text, "utf-8")


def test_every_block_is_a_file_or_is_run_or_has_a_reason_why_not() -> None:
    for block in BLOCKS:
        where = f"README.md:{block.line}"
        assert block.kind in {"console", "python", "yaml", "diff"}, f"{where}: {block.kind!r} is not tested"
        unrun = [command.text for command in commands(block) if command.text in NOT_RUN_HERE]
        assert block.title or (block.kind == "console" and unrun), f"{where}: no title, so it is not tested"
    listed = [command.text for block in BLOCKS for command in commands(block)]
    assert sorted(set(NOT_RUN_HERE) - set(listed)) == []


def test_output_is_compared_line_by_line_but_for_what_varies() -> None:
    printed = ("...", "2,032 trials in 362 runs, 0 errors, 0.3 s ...", "HELD  a-c96cb44602ee.replay  1 landed")
    pattern = pattern_of(printed)

    fits = "first\n9 trials in 7 runs, 0 errors, 1.8 s (5 trials/s)\nHELD   a-0123456789ab.replay    1 landed\n"

    assert pattern.fullmatch(fits)
    assert not pattern.fullmatch(fits.replace("0 errors", "1 errors"))
    assert not pattern.fullmatch(fits.replace("1 landed", "2 landed"))
    assert not pattern.fullmatch(fits.replace("HELD", "more\nHELD"))
    assert not pattern.fullmatch(fits + "more\n")


def test_a_diff_that_fits_nowhere_is_refused() -> None:
    assert changed("a\nb\nc\n", " a\n-b\n+d\n") == "a\nd\nc\n"
    with pytest.raises(AssertionError, match="the diff fits 0 places"):
        changed("a\nb\nc\n", " c\n-b\n+d\n")


@pytest.mark.slow
def test_the_table_of_certificates_is_what_the_benchmark_counts(capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "experiments" / "benchmarks" / "README.md").read_text("utf-8")
    rows = re.findall(r"^\| (\w+, [\w-]+) \| (.*?) \| ([\d.]+) \| (.*) \|$", page, re.MULTILINE)
    stated = {(where, space): (cost, counts.split(" | ")) for where, space, cost, counts in rows}

    certify.main()

    counted: dict[tuple[str, str], tuple[str, list[str]]] = {}
    for line in capsys.readouterr().out.splitlines()[1:]:
        if not line.startswith(" "):
            where, space = line.split(", at-most-once, ")
            continue
        count, cost, proof = re.sub(r"R\d", "", line).split()[:3]
        assert proof == "certified"
        counted.setdefault((where, space), (cost, []))[1].append(count)
        assert counted[where, space][0] == cost
    assert stated == counted


def test_the_first_agent_has_at_most_twenty_lines() -> None:
    agent = next(block for block in BLOCKS if block.kind == "python")

    assert sum(bool(line.strip()) for line in agent.text.splitlines()) <= AGENT_LINES_MAX


def test_the_study_file_with_every_key_has_every_key_and_says_the_defaults() -> None:
    said = yaml.safe_load(next(block.text for block in BLOCKS if block.title == "desk/every-key.yaml"))
    parts: dict[str, type[BaseModel]] = {"cost": CostSettings, "search": SearchSettings, "run": RunSettings}

    assert set(said) == set(StudySettings.model_fields)
    for part, model in parts.items():
        assert set(said[part]) == set(model.model_fields)
    defaults = StudySettings(target=said["target"]).model_dump()
    assert {"budget": said["budget"], "seeds": said["seeds"]} == {key: defaults[key] for key in ("budget", "seeds")}
    for part in parts:
        given = {key: value for key, value in said[part].items() if key not in {"seconds", "settings", "until"}}
        assert given == {key: defaults[part][key] for key in given}


def test_the_tables_name_every_door_outcome_and_level() -> None:
    for boundary in Boundary:
        assert f"| `run.{boundary.value}(" in README
    for outcome in ReplayOutcome:
        assert f"`{outcome.value}`" in README
    for level in LEVELS:
        assert f"\n| {level} |" in README
    assert len(default_contracts()) == 8, "README.md says that eight contracts are on by default"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_links_to_and_tells_to_run_exists(page: Path) -> None:
    text = page.read_text("utf-8")

    dead = [link for link in LINK.findall(text) if not (page.parent / link).exists()]
    missing = [name for name in re.findall(r"python -m (chaosagent[\w.]*)", text) if not importlib.util.find_spec(name)]
    studies = re.findall(r"chaosagent search (experiments/\S+\.yaml)", text)
    missing += [study for study in studies if not (ROOT / study).exists()]

    assert not dead, f"{page.relative_to(ROOT)}:1: links to nothing: {', '.join(dead)}"
    assert not missing, f"{page.relative_to(ROOT)}:1: no such module or study file: {', '.join(missing)}"


def test_every_call_in_the_table_of_doors_can_be_made_as_it_is_written() -> None:
    run = UntracedRun(Task("one"), synchronous=True)
    doors = {
        "service": run.service("s", {"get": lambda id: id}),  # noqa: A006  # the README's argument
        "retrieval": run.retrieval("r", {"find": lambda query: [{"id": "1", "text": query}]}),
        "memory": run.memory("m"),
        "model": run.model("m", {"ask": lambda prompt: {"content": prompt, "tool_calls": []}}),
        "tools": run.tools("t", [{"name": "get", "description": "Gets it."}]),
        "message": run.message("m"),
        "prompt": run.prompt("p"),
    }
    calls = re.findall(r"^\| `run\.(\w+)\(.*?\)` \| (.*?) \|", README, re.MULTILINE)

    made = [
        (kind, eval(code, {"door": doors[kind]}))
        for kind, cell in calls
        for code in re.findall(r"`(door\(.*?\))`", cell)
    ]

    assert [kind for kind, _ in calls] == [*list(doors)[:6], "network", "prompt"]
    assert len(made) == len(doors) + 1
    assert ("memory", "call A-17") in made
