"""Every built-in operator passes the conformance suite."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from chaosagent import operators
from chaosagent.errors import UsageError
from chaosagent.faults.operator import OPERATORS, Operator
from chaosagent.operators import entries, service
from chaosagent.registry import Registry
from chaosagent.testing.operators import OperatorConformance

FOLDER = Path(__file__).parents[2] / "operators"


def _suite(kind: type[Operator]) -> type[OperatorConformance]:
    title = "Test" + "".join(word.capitalize() for word in kind.name.replace(".", "_").split("_"))
    return type(title, (OperatorConformance,), {"kind": kind, "__module__": __name__, "__qualname__": title})


SUITES = {suite.__name__: suite for suite in map(_suite, entries().values())}
globals().update(SUITES)


def test_every_registered_builtin_has_a_suite() -> None:
    tried = {suite.kind.name for suite in SUITES.values()}

    assert tried == set(entries())
    assert tried <= set(OPERATORS)


def test_an_operator_is_called_what_its_file_is() -> None:
    assert {name: kind.name for name, kind in entries().items()} == {name: name for name in entries()}


def test_the_files_of_the_folders_are_the_operators() -> None:
    files = [path.relative_to(FOLDER).with_suffix("") for path in FOLDER.glob("*/*.py") if path.stem != "__init__"]

    assert len(files) > 60
    assert list(entries()) == sorted(".".join(file.parts) for file in files)


def test_a_file_without_its_operator_says_what_to_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name, file = "chaosagent.operators.service.later", tmp_path / "service" / "later.py"
    file.parent.mkdir()
    file.write_text("from chaosagent.operators.service.delay import Delay\n")
    monkeypatch.setattr(operators, "__path__", [*operators.__path__, str(tmp_path)])
    monkeypatch.setattr(service, "__path__", [*service.__path__, str(file.parent)])
    monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(operators, "entries", operators.entries.__wrapped__)

    found = Registry[type[Operator]]("operator", "none", "chaosagent.operators")

    assert "service.later" in found
    with pytest.raises(UsageError, match=r'later.py has no class .* Write `name = "service.later"` in the class'):
        found.get("service.later")
    del sys.modules[name]


def test_a_run_imports_only_the_operators_that_it_injects() -> None:
    script = (
        "import sys\n"
        "from chaosagent.faults.schedule import parse\n"
        "parse('service:crm[1] delay')\n"
        "print(*sorted(name for name in sys.modules if name.startswith('chaosagent.operators.service.')))\n"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["chaosagent.operators.service.delay"]
