"""Every built-in operator passes the conformance suite."""

from __future__ import annotations

import subprocess
import sys

from chaosagent.faults.operator import OPERATORS, Operator
from chaosagent.operators import entries
from chaosagent.testing.operators import OperatorConformance


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


def test_a_run_imports_only_the_operators_that_it_injects() -> None:
    script = (
        "import sys\n"
        "from chaosagent.faults.schedule import parse\n"
        "parse('service:crm[1] delay')\n"
        "print(*sorted(name for name in sys.modules if name.startswith('chaosagent.operators.service.')))\n"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["chaosagent.operators.service.delay"]
