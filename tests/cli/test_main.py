"""The command line as a whole: help, lists, errors, and what it loads to start."""

import ast
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import click
import pytest

from chaosagent.cli.demos.demonstration import Demonstration, DemoResult
from chaosagent.cli.main import VERBS, main
from chaosagent.cli.proxies.proxy import USUAL
from chaosagent.contracts.contract import CONTRACTS
from chaosagent.faults.operator import OPERATORS
from chaosagent.study.certificate import RULES
from chaosagent.study.searcher import SEARCHERS
from chaosagent.studyfile.settings import SearchSettings

Command = Callable[..., Any]


def in_a_process(*arguments: str, **settings: Any) -> subprocess.CompletedProcess[str]:
    """Run the installed command."""
    command = [sys.executable, "-m", "chaosagent", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **settings)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_teaches_itself(chaosagent: Command, verb: str) -> None:
    answer = chaosagent(verb, "--help")

    assert answer.code == 0
    assert "Example" in answer.out
    assert "--json" in answer.out


@pytest.mark.parametrize("columns", [60, 80])
@pytest.mark.parametrize("verb", VERBS)
def test_nothing_is_cut_off_in_the_help_on_a_narrow_terminal(
    chaosagent: Command, verb: str, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    command = resolve_name(f"chaosagent.cli.{VERBS[verb][0]}")

    lines = chaosagent(verb, "--help").out.splitlines()

    examples = [line for line in lines if line.startswith("    chaosagent ")]  # whole, to be copied
    assert examples
    assert max(len(line) for line in lines if line not in examples) <= columns
    said = "".join("".join(lines).split())
    options = [option for option in command.params if isinstance(option, click.Option)]
    assert all("".join((option.help or "").split()) in said for option in options)


def test_the_proxy_names_the_models_that_stand_behind_it_by_default(
    chaosagent: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    words = chaosagent("proxy", "--help").out.replace(",", " ").replace(". ", " ").split()

    assert set(USUAL) <= set(words)


def test_help_lists_the_verbs_and_the_exit_codes(chaosagent: Command) -> None:
    answer = chaosagent("--help")

    assert answer.code == 0
    assert all(verb in answer.out for verb in VERBS)
    assert "130" in answer.out


def test_nothing_at_all_gets_the_help(chaosagent: Command) -> None:
    answer = chaosagent()

    assert (answer.code, answer.err) == (2, "")
    assert "Usage: chaosagent" in answer.out
    assert all(verb in answer.out for verb in VERBS)


@pytest.mark.parametrize(("arguments", "missing"), [(["list"], "'KIND'"), (["--traceback"], "command")])
def test_what_is_missing_is_said(chaosagent: Command, arguments: list[str], missing: str) -> None:
    answer = chaosagent(*arguments)

    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("chaosagent: Missing ")
    assert missing in answer.err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["search", "study.yaml", "--trials", "0"], "Invalid value for '--trials': 0 is not in the range x>=1."),
        (["search", "study.yaml", "--seed", "a"], "Invalid value for '--seed': 'a' is not a valid integer."),
        (["curve", "study.yaml", "--by", "task"], "Invalid value for '--by': 'task' is not 'category'."),
        (["search", "study.yaml", "--trails", "9"], "No such option"),
        (["search", "study.yaml", "--trials"], "Option '--trials' requires an argument."),
        (["doctor", "triage", "--wall-seconds", "nan"], "Invalid value for '--wall-seconds': 'nan' is no number."),
        (["init", "here", "there"], "Got unexpected extra argument (there)"),
    ],
)
def test_what_is_wrong_is_said_with_a_hint(chaosagent: Command, arguments: list[str], complaint: str) -> None:
    answer = chaosagent(*arguments)

    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(f"chaosagent: {complaint}")
    assert answer.err.endswith(f". See `chaosagent {arguments[0]} --help`.\n")


def test_a_verb_that_does_not_exist_names_the_nearest(chaosagent: Command) -> None:
    answer = chaosagent("serch")

    assert (answer.code, answer.out) == (2, "")
    assert "unknown command 'serch'. Did you mean 'search'?" in answer.err


def test_the_version_is_printed(chaosagent: Command) -> None:
    answer = chaosagent("--version")

    assert answer.code == 0
    assert answer.out.strip()[0].isdigit()


@pytest.mark.parametrize(
    ("kind", "registry"), [("operators", OPERATORS), ("searchers", SEARCHERS), ("contracts", CONTRACTS)]
)
def test_a_list_has_everything_that_is_registered(chaosagent: Command, kind: str, registry: Any) -> None:
    as_text, as_json = chaosagent("list", kind), chaosagent("list", kind, "--json")

    assert as_text.code == as_json.code == 0
    assert [entry["name"] for entry in as_json.json[kind]] == list(registry)
    assert all(name in as_text.out for name in registry)
    assert all(entry["summary"] for entry in as_json.json[kind])


def test_an_operator_is_listed_with_domains_levels_and_cost(chaosagent: Command) -> None:
    listed = chaosagent("list", "operators", "--json").json["operators"]

    delay = next(entry for entry in listed if entry["name"] == "service.delay")
    assert delay["parameters"] == {"seconds": {"domain": "a number from 0.001 to 86400", "levels": [5.0, 60.0]}}
    assert delay["boundaries"] == ["service"]
    assert 1 < delay["cost_min"] < delay["cost_max"] <= 1.1


def test_a_searcher_is_listed_with_what_its_rules_mean(chaosagent: Command) -> None:
    answer = chaosagent("list", "searchers")

    for rule, meaning in RULES.items():
        by_default = rule in ("R1", "R2", "R3")  # the others need what a target or an operator declares
        assert f"    {rule.lower()} = {by_default}: {meaning}\n" in answer.out


def test_a_searcher_is_listed_with_what_its_settings_may_be(chaosagent: Command) -> None:
    answer = chaosagent("list", "searchers")

    assert "    width = 8: a whole number from 1 to 10000\n" in answer.out
    assert "    policy = 'ucb1': one of 'ucb1', 'thompson'\n" in answer.out
    assert "    learns = True: true or false\n" in answer.out


def test_the_searcher_of_a_study_that_names_none_is_marked_in_the_list(chaosagent: Command) -> None:
    as_text, as_json = chaosagent("list", "searchers"), chaosagent("list", "searchers", "--json")

    marked = [line.split()[0] for line in as_text.out.splitlines() if line.endswith(" (the default)")]
    assert marked == [entry["name"] for entry in as_json.json["searchers"] if entry["default"]]
    assert marked == [SearchSettings().searcher]


def test_targets_are_listed_without_loading_them(chaosagent: Command) -> None:
    answer = chaosagent("list", "targets")

    assert answer.code == 0
    assert "triage" in answer.out


def test_a_plugin_that_failed_to_load_is_named(chaosagent: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(OPERATORS.failures, "acme/quake", "ImportError: no module acme (from acme.quake)")

    as_text, as_json = chaosagent("list", "operators"), chaosagent("list", "operators", "--json")

    assert "acme/quake  failed to load: ImportError: no module acme" in as_text.out
    assert as_json.json["failed"] == {"acme/quake": "ImportError: no module acme (from acme.quake)"}


def test_a_list_of_something_else_names_the_nearest(chaosagent: Command) -> None:
    answer = chaosagent("list", "operator")

    assert (answer.code, answer.out) == (2, "")
    assert "Did you mean 'operators'?" in answer.err


def test_an_error_of_ours_says_how_to_report_it(chaosagent: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("chaosagent.report.catalogues.CATALOGUES", {"operators": broken})

    answer = chaosagent("list", "operators")

    assert (answer.code, answer.out) == (4, "")
    assert "ZeroDivisionError: division by zero. This is an error of chaosagent" in answer.err
    for arguments in (("--traceback", "list", "operators"), ("list", "operators", "--traceback")):
        with pytest.raises(ZeroDivisionError, match="division by zero"):
            chaosagent(*arguments)


def test_an_interrupt_is_exit_code_130(chaosagent: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("chaosagent.report.catalogues.CATALOGUES", {"operators": interrupted})

    as_text, as_json = chaosagent("list", "operators"), chaosagent("list", "operators", "--json")
    assert (as_text.code, as_text.out, as_text.err) == (130, "", "chaosagent: interrupted\n")
    assert (as_json.code, as_json.json) == (130, {"error": "interrupted", "exit_code": 130})


def test_an_interrupt_while_another_is_told_is_exit_code_130_too(
    chaosagent: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("chaosagent.report.catalogues.CATALOGUES", {"operators": interrupted})
    monkeypatch.setattr("chaosagent.cli.output.remark", interrupted)

    assert chaosagent("list", "operators").code == 130


def test_what_an_error_quotes_cannot_act_on_the_terminal(chaosagent: Command) -> None:
    answer = chaosagent("show", "\x1b[31mred\u202e.replay")

    assert answer.code == 2
    assert r"\x1b[31mred\u202e.replay" in answer.err
    assert "\x1b" not in answer.err


@pytest.mark.slow
def test_a_reader_that_goes_away_ends_it_quietly() -> None:
    command = f"{sys.executable} -m chaosagent list operators | head -1"

    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 0
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""


@pytest.mark.slow
def test_an_encoding_without_arrows_gets_plain_letters() -> None:
    done = in_a_process("list", "contracts", env={"PYTHONIOENCODING": "ascii", "PATH": ""})

    assert done.returncode == 0
    assert done.stdout.isascii()


@pytest.mark.slow
def test_the_help_loads_nothing_that_takes_long() -> None:
    # How long it takes is measured by `experiments/benchmarks/start.py`.
    code = (
        "import runpy, sys\n"
        "sys.argv = ['chaosagent', '--help']\n"
        "try:\n"
        "    runpy.run_module('chaosagent', run_name='__main__')\n"
        "except SystemExit:\n"
        "    print(sorted(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, timeout=60, capture_output=True, text=True)
    loaded = set(ast.literal_eval(done.stdout.splitlines()[-1]))

    assert "click" in loaded
    assert not loaded & {"asyncio", "importlib.metadata", "pydantic", "rich", "yaml"}
    ours = {name for name in loaded if name.startswith("chaosagent.cli.")}
    assert ours == {"chaosagent.cli.main", "chaosagent.cli.output"}, "a verb is imported when it is called"


DEMO = """
import threading
from chaosagent.cli.demos.demonstration import Demonstration
from chaosagent.cli.main import main

Demonstration._await = lambda *_: threading.Event().wait(600)  # it does not come to its end while we look
raise SystemExit(main())
"""


@pytest.mark.slow
@pytest.mark.parametrize("everybody", [True, False])  # a terminal interrupts all processes, `kill` one
def test_an_interrupted_demo_ends_at_once_and_says_so(tmp_path: Path, *, everybody: bool) -> None:
    pytest.importorskip("matplotlib")
    with subprocess.Popen(
        [sys.executable, "-c", DEMO, "demo", "--json", "--out", "demo-out"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as demo:
        while not list(tmp_path.glob("demo-out/*/study.db-wal")):  # the search beside has begun
            assert demo.poll() is None, demo.communicate()
            threading.Event().wait(0.02)

        (os.killpg if everybody else os.kill)(demo.pid, signal.SIGINT)
        try:
            out, err = demo.communicate(timeout=120)
        finally:
            demo.kill()

    assert demo.returncode == 130
    assert json.loads(out) == {"error": "interrupted", "exit_code": 130}
    assert "Traceback" not in err


@pytest.mark.slow
def test_the_demo_keeps_its_promises_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    kept: list[DemoResult] = []
    run = Demonstration.run

    def noted(demonstration: Demonstration) -> DemoResult:
        kept.append(run(demonstration))
        return kept[0]

    monkeypatch.setattr(Demonstration, "run", noted)

    code = main(["demo", "--out", "demo-out"])

    told = capsys.readouterr().out
    shown: dict[str, Any] = json.loads(json.dumps(kept[0].to_json()))
    assert (code, shown["kept"]) == (0, True), told
    assert shown["signatures"] >= 5
    assert {2, 3} <= {one["injections"] for one in shown["counterexamples"]}
    assert shown["replays"].keys() == {"REPRODUCED", "HELD"}
    assert all(Path(path).stat().st_size > 10_000 for path in shown["pictures"])
    assert all(Path(one["record"]).is_file() for one in shown["counterexamples"])
    assert shown["repaired"]["counterexamples"] == []
    assert "✗  " not in told.partition("What was promised")[2]
    pictures = ["demo-out/robustness.png", "demo-out/robustness.svg"]
    assert shown["pictures"] == pictures
    assert f"drawn in {' and '.join(pictures)}; the numbers are in demo-out/robustness.json" in told
    commands = re.findall(r"^ +chaosagent (.*?)(?:  |$)", told.partition("What to type next")[2], re.MULTILINE)
    assert [main(command.split()) for command in commands] == [0, 0, 1, 0, 0]
