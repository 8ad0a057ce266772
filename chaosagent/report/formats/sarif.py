"""SARIF 2.1.0, as code-scanning services read it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from urllib.parse import quote

from chaosagent.canonical import Plain, digest_of
from chaosagent.report.formats.cases import TEXT_MAX, Case, Status
from chaosagent.report.printable import printable
from chaosagent.version import version

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS: Mapping[Status, str] = {"failed": "error", "error": "error", "known": "note"}
"""Of what is listed as a result. What passed is not; what is open is no result, but a notification of the run."""
INFORMATION = "https://pypi.org/project/chaosagent/"


def sarif_json(title: str, cases: Sequence[Case]) -> str:
    """Return what failed or is known as SARIF, a result each; rules are the contracts.

    Args:
        title: Of the run, such as `"chaosagent replay"`.
        cases: In their order.
    """
    listed = [(case, mark) for case, mark in zip(cases, _fingerprints(cases), strict=True) if case.status in LEVELS]
    notes: list[Plain] = [
        {"level": "note", "message": {"text": _said(case, case.message)}} for case in cases if case.status == "open"
    ]
    notes.extend({"level": "warning", "message": {"text": _said(case, case.warning)}} for case in cases if case.warning)
    rules = list(dict.fromkeys(case.rule or title for case, _ in listed))
    log: dict[str, Plain] = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "chaosagent",
                        "version": version(),
                        "informationUri": INFORMATION,
                        "rules": [
                            {"id": printable(rule), "shortDescription": {"text": f"The contract {printable(rule)}."}}
                            for rule in rules
                        ],
                    }
                },
                "automationDetails": {"id": f"{title}/"},
                "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": notes}],
                "results": [_result(case, rules.index(case.rule or title), title, mark) for case, mark in listed],
            }
        ],
    }
    return json.dumps(log, indent=2, ensure_ascii=True) + "\n"


def _said(case: Case, message: str) -> str:
    return printable(f"{case.name}: {message}" if message else case.name, characters_max=TEXT_MAX)


def _fingerprints(cases: Sequence[Case]) -> list[str]:
    """Return a fingerprint of each case, no two the same: of equal ones the second is the same second one next time."""
    given = [case.fingerprint or digest_of([printable(case.rule), printable(case.name)])[:24] for case in cases]
    times = Counter[str]()
    marks = []
    for one in given:
        times[one] += 1
        marks.append(one if times[one] == 1 else f"{one}:{times[one]}")
    return marks


def _result(case: Case, rule: int, title: str, fingerprint: str) -> dict[str, Plain]:
    result: dict[str, Plain] = {
        "ruleId": printable(case.rule or title),
        "ruleIndex": rule,
        "level": LEVELS[case.status],
        "message": {"text": _said(case, case.message)},
        "partialFingerprints": {"chaosagent/v1": fingerprint},
    }
    if case.path:
        region: dict[str, Plain] = {"region": {"startLine": case.line}} if case.line else {}
        result["locations"] = [{"physicalLocation": {"artifactLocation": _artifact(case.path), **region}}]
    return result


def _artifact(path: str) -> dict[str, Plain]:
    """Return the URI of a file: relative where it is below the working folder, with the bytes that its name has."""
    place = PurePath(path)
    if place.is_absolute() and place.is_relative_to(Path.cwd()):
        place = place.relative_to(Path.cwd())
    uri = quote(place.as_posix().encode("utf-8", "surrogateescape"))
    return {"uri": f"file://{uri}"} if place.is_absolute() else {"uri": uri, "uriBaseId": "%SRCROOT%"}
