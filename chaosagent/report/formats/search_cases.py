"""A case for each search of a study, for the formats of other tools."""

from __future__ import annotations

from chaosagent.report.findings import Findings, is_proved
from chaosagent.report.formats.cases import Case
from chaosagent.study.result import SearchResult


def cases_of_findings(findings: Findings) -> list[Case]:
    """Return a case for each search: broken is failed, proved is passed, and anything else is open."""
    return [_case(search, findings) for search in findings.result.searches]


def _case(search: SearchResult, findings: Findings) -> Case:
    name = f"{search.task_id}, seed {search.seed}"
    found = search.counterexample
    if found is not None:
        violation = found.trace.verdict(found.contract).violation
        reason = "" if violation is None else f": {violation.reason}"
        record = findings.records.get(found.id)
        path = "" if record is None else str(record)
        message = f"cost {found.cost:g}, {found.schedule.text}{reason}"
        detail = f"{search.certificate}\nchaosagent replay {path}" if path else str(search.certificate)
        return Case(search.contract, name, "failed", message, detail, path, found.id)
    if search.violated_nominally:
        return Case(search.contract, name, "failed", "broken without any fault", str(search.certificate))
    return Case(search.contract, name, "passed" if is_proved(search) else "open", str(search.certificate))
