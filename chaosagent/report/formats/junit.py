"""JUnit XML, as build servers read it."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from chaosagent.report.formats.cases import TEXT_MAX, Case
from chaosagent.report.printable import printable


def junit_xml(title: str, cases: Sequence[Case]) -> str:
    """Return cases as JUnit XML: one test case each; what is known or open is skipped, with the reason.

    Args:
        title: Of the test suite, such as `"chaosagent replay"`.
        cases: In their order.
    """
    counts = {status: sum(case.status == status for case in cases) for status in ("failed", "error", "known", "open")}
    suite = ElementTree.Element(
        "testsuite",
        name=title,
        tests=str(len(cases)),
        failures=str(counts["failed"]),
        errors=str(counts["error"]),
        skipped=str(counts["known"] + counts["open"]),
    )
    if any(case.seconds is not None for case in cases):
        suite.set("time", f"{sum(case.seconds or 0 for case in cases):.3f}")
    for case in cases:
        node = ElementTree.SubElement(suite, "testcase", classname=_text(case.rule or title), name=_text(case.name))
        if case.path:
            node.set("file", _text(case.path))
        if case.line:
            node.set("line", str(case.line))
        if case.seconds is not None:
            node.set("time", f"{case.seconds:.3f}")
        message = _text(case.message)
        if case.status == "failed":
            ElementTree.SubElement(node, "failure", message=message, type="violation").text = _text(case.detail)
        elif case.status == "error":
            ElementTree.SubElement(node, "error", message=message, type="error").text = _text(case.detail)
        elif case.status != "passed":
            ElementTree.SubElement(node, "skipped", message=message)
        if case.warning:
            ElementTree.SubElement(node, "system-out").text = _text(case.warning)
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _text(text: str) -> str:
    return "\n".join(printable(line) for line in text[:TEXT_MAX].split("\n"))
