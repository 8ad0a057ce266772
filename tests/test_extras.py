"""Optional packages: what is missing is told, whatever lies about."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaosagent.errors import MissingExtraError
from chaosagent.extras import require


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
