"""Every built-in operator passes the conformance suite."""

from __future__ import annotations

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
