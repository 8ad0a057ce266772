"""SARIF 2.1.0, as code-scanning services read it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from urllib.parse import quote

from chaosagent.canonical import Plain
from chaosagent.report.formats.cases import Case, Status
from chaosagent.report.printable import printable
from chaosagent.version import version

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS: Mapping[Status, str] = {"failed": "error", "error": "error", "known": "note", "open": "note"}
"""Of what is listed; what passed is not."""
INFORMATION = "https://pypi.org/project/chaosagent/"


def sarif_json(title: str, cases: Sequence[Case]) -> str:
    """Return what failed, is known or open as SARIF, a result each; rules are the contracts.

    Args:
        title: Of the run, such as `"chaosagent replay"`.
        cases: In their order.
    """
    listed = [case for case in cases if case.status != "passed"]
    rules = list(dict.fromkeys(case.rule or title for case in listed))
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
                "results": [_result(case, rules.index(case.rule or title), title) for case in listed],
            }
        ],
    }
    return json.dumps(log, indent=2, ensure_ascii=True) + "\n"


def _result(case: Case, rule: int, title: str) -> dict[str, Plain]:
    text = f"{case.name}: {case.message}" if case.message else case.name
    result: dict[str, Plain] = {
        "ruleId": printable(case.rule or title),
        "ruleIndex": rule,
        "level": LEVELS[case.status],
        "message": {"text": printable(text)},
    }
    if case.path and not PurePath(case.path).is_absolute():
        place = quote(PurePath(case.path).as_posix())
        result["locations"] = [{"physicalLocation": {"artifactLocation": {"uri": place, "uriBaseId": "%SRCROOT%"}}}]
    if case.fingerprint:
        result["partialFingerprints"] = {"chaosagent/v1": case.fingerprint}
    return result
