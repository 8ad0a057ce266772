"""AgentDojo without the SDKs of model vendors."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from chaosagent.errors import MissingExtraError, UnknownNameError
from chaosagent.experiments.dojo.light_import import DeferredModule, defer
from chaosagent.experiments.dojo.suite import Suite

WITH_SDKS = """
import sys
from chaosagent.experiments.dojo.light_import import require_agentdojo
require_agentdojo("the test").get_suite("v1.2.2", "banking")
assert not {"openai", "anthropic", "cohere", "google.genai"} & set(sys.modules), "an SDK was imported"
from agentdojo.agent_pipeline.llms.google_llm import EMPTY_FUNCTION_NAME
assert "google.genai" not in sys.modules, "a constant was enough to import an SDK"
from agentdojo.agent_pipeline import AbortAgentError, OpenAILLM
import agentdojo.task_suite.task_suite as used, agentdojo.agent_pipeline.llms.google_llm as google, openai
assert OpenAILLM.__module__ == "agentdojo.agent_pipeline.llms.openai_llm" and openai.OpenAI
assert used.AbortAgentError is AbortAgentError and google.EMPTY_FUNCTION_NAME == EMPTY_FUNCTION_NAME
assert type(google).__name__ == "module"
"""


@pytest.fixture
def heavy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package whose module does something when it is executed."""
    (tmp_path / "heavypackage").mkdir()
    (tmp_path / "heavypackage" / "__init__.py").write_text("")
    source = "import sys\nNAME = 'heavy'\nsys.heavy_runs += 1\nVALUE = len(NAME)\n"
    (tmp_path / "heavypackage" / "inner.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "heavy_runs", 0, raising=False)
    yield tmp_path / "heavypackage" / "inner.py"
    for name in ("heavypackage", "heavypackage.inner"):
        sys.modules.pop(name, None)


def runs() -> int:
    return int(vars(sys)["heavy_runs"])


@pytest.mark.usefixtures("heavy")
def test_a_deferred_module_knows_its_constants_and_executes_at_its_first_other_use() -> None:
    defer("heavypackage.inner")
    from heavypackage.inner import NAME  # type: ignore[import-not-found]

    assert (NAME, runs()) == ("heavy", 0)
    assert not hasattr(sys.modules["heavypackage.inner"], "__wrapped__")

    from heavypackage.inner import VALUE

    assert (VALUE, runs()) == (5, 1)
    assert type(sys.modules["heavypackage.inner"]) is not DeferredModule


@pytest.mark.usefixtures("heavy")
def test_what_is_imported_already_stays_as_it_is() -> None:
    imported = importlib.import_module("heavypackage.inner")

    defer("heavypackage.inner")

    assert sys.modules["heavypackage.inner"] is imported
    assert runs() == 1


def test_a_module_that_fails_says_so_every_time(heavy: Path) -> None:
    heavy.write_text("import missing_sdk\nclass Client: ...\n")
    defer("heavypackage.inner")

    for _ in range(2):
        with pytest.raises(ModuleNotFoundError, match="missing_sdk"):
            _ = sys.modules["heavypackage.inner"].Client


def test_a_module_that_does_not_exist_is_left_to_those_who_import_it(heavy: Path) -> None:
    assert heavy.is_file()

    defer("heavypackage.absent")

    assert "heavypackage.absent" not in sys.modules


def test_without_agentdojo_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "agentdojo", None)

    with pytest.raises(MissingExtraError, match=r"target dojo-banking needs agentdojo.*chaosagent\[dojo\]"):
        Suite("banking")


def test_an_unknown_suite_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"'bankin'\. Did you mean 'banking'\?"):
        Suite("bankin")


@pytest.mark.dojo
@pytest.mark.slow
@pytest.mark.skipif(find_spec("agentdojo") is None, reason="needs the extra dojo (agentdojo)")
def test_no_sdk_is_imported_and_others_get_the_real_modules() -> None:
    done = subprocess.run([sys.executable, "-c", WITH_SDKS], capture_output=True, text=True, check=False, timeout=600)

    assert done.returncode == 0, done.stderr
