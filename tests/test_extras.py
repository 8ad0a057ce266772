"""Optional packages: what is missing is told, whatever lies about."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from chaosagent.errors import MissingExtraError
from chaosagent.extras import EXTRAS, missing_extra, require


def test_a_package_that_is_there_is_imported() -> None:
    assert require("json.decoder", extra="none", needed_by="this test").__name__ == "json.decoder"


@pytest.mark.parametrize("module", ["no_such_package", "no_such_package.inside"])
@pytest.mark.parametrize("folder", [False, True])
def test_a_missing_package_is_told_with_its_extra_even_where_a_folder_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, *, folder: bool
) -> None:
    if folder:
        (tmp_path / "no_such_package").mkdir()
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(MissingExtraError, match=r"this test needs no_such_package.*pip install 'chaosagent\[some\]'"):
        require(module, extra="some", needed_by="this test")


def test_a_package_that_lacks_another_one_is_not_called_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lacking_another_one.py").write_text("import no_such_module_either\n")
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(ModuleNotFoundError, match="no_such_module_either"):
        require("lacking_another_one", extra="some", needed_by="this test")


def test_every_extra_that_brings_packages_is_known_by_what_they_are_imported_as() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))
    listed = set(project["project"]["optional-dependencies"]) - {"all", "dev"}

    assert set(EXTRAS.values()) == listed


def test_the_extra_of_a_package_that_somebody_else_imports_is_named() -> None:
    missing = missing_extra(ModuleNotFoundError("No module named 'agents'", name="agents"), "desk.py")

    assert missing is not None
    assert (
        str(missing) == "desk.py needs agents, which is not installed: run `pip install 'chaosagent[openai-agents]'`."
    )


@pytest.mark.parametrize("name", [None, "", "redis", "langgraph.nothing", "langgraph_nothing"])
def test_no_extra_is_named_for_what_none_brings(name: str | None) -> None:
    assert missing_extra(ModuleNotFoundError("No module", name=name), "desk.py") is None
