"""The result of `chaosagent check`: as a page, as JSON, and as cases for the formats of other tools."""

from __future__ import annotations

import difflib
from collections import Counter

from chaosagent.canonical import Plain, digest_of
from chaosagent.effects.failed_when import EVERY
from chaosagent.execution.trace_checks import Count, Finding, Tally, uncounted_tools
from chaosagent.report.formats.cases import Case
from chaosagent.report.page import Page, bad, faint, good, name, notice, strong
from chaosagent.report.printable import printable
from chaosagent.trace.span_files import Reading

FINDINGS_SHOWN_MAX = 20
REASONS_SHOWN_MAX = 5
TOOLS_SHOWN_MAX = 8


def trace_checks_page(title: str, tally: Tally, reading: Reading) -> Page:
    """Return what was found as a page.

    Args:
        title: Which files were read.
        tally: What was found in them.
        reading: What was met while they were read.
    """
    judged = sum(bool(count.holds or count.violated or count.unfair) for count in tally.counts.values())
    total = len(tally.checks.contracts)
    contracts = f"{'' if judged == total else f'{judged} of '}{_counted(total, 'contract')} judged"
    work = f"{_counted(tally.runs, 'trace')}, {_counted(tally.steps, 'step')}"
    page = Page().line(strong(title), f": {work}, {contracts}")
    page.line(faint("Nothing was executed."))
    if tally.findings_count:
        page.heading(f"{_counted(tally.findings_count, 'violation')}")
        for found in tally.findings[:FINDINGS_SHOWN_MAX]:
            _add_finding(page, found)
        if tally.findings_count > FINDINGS_SHOWN_MAX:
            page.line(faint(f"... {tally.findings_count - FINDINGS_SHOWN_MAX} more"), indent=2)
    page.heading("By contract")
    rows = [_row(contract.id, tally.counts.get(contract.id, Count())) for contract in tally.checks.contracts]
    page.table(("contract", "violated", "holds", "unknown"), rows)
    _add_reasons(page, tally)
    for remark in remarks(tally, reading):
        page.gap().line(notice("- "), remark)
    page.gap()
    if tally.violated:
        return page.line(bad("Violated"))
    if tally.judged:
        return page.line(
            good("Nothing violated"),
            f"; {total - judged} of {_counted(total, 'contract')} could not be judged" if judged < total else "",
        )
    found_none = "" if tally.runs else ": no spans were found"
    return page.line(notice(f"Nothing could be judged{found_none}"))


def _add_finding(page: Page, found: Finding) -> None:
    unfair = ", unfair: what it requires was not given" if found.unfair else ""
    soft = "" if found.severity.value == "hard" else ", soft"
    page.line(bad("✗ "), strong(found.contract), f"{soft}{unfair}: {found.reason}", indent=2, hang=4)
    step = "at the end of the run" if found.step is None else f"step {found.step}, {found.hook}"
    agent = _agent_of(found)
    by = f", by {agent}" if agent and f"@{agent}" not in found.hook else ""
    page.line(name(str(found.where)), f"  {step}{by}", indent=4, hang=2)
    if found.trace_id:
        page.line(faint(f"trace {found.trace_id}  span {found.span_id}"), indent=4, hang=2)


def _agent_of(found: Finding) -> str:
    """Return who broke a contract, empty when only the end of the run showed it: nobody acted there."""
    return "" if found.step is None else found.agent


def _row(contract: str, count: Count) -> tuple[str, ...]:
    violated = count.violated + count.unfair
    return contract, *(f"{number:,}" if number else "-" for number in (violated, count.holds, count.unknown.total()))


def _add_reasons(page: Page, tally: Tally) -> None:
    """Say why verdicts are unknown: each reason with its contracts, those of most traces first."""
    reasons: dict[str, list[str]] = {}
    weights: Counter[str] = Counter()
    for contract, count in tally.counts.items():
        for reason, number in count.unknown.items():
            reasons.setdefault(reason, []).append(contract)
            weights[reason] += number
    if not reasons:
        return
    page.heading("Not judged")
    for reason, _ in weights.most_common(REASONS_SHOWN_MAX):
        traces = max(tally.counts[contract].unknown[reason] for contract in reasons[reason])
        where = "" if traces == tally.runs else f" ({_counted(traces, 'trace')})"
        page.line(f"{', '.join(reasons[reason])}: {reason}{where}", indent=2, hang=2)
    left_out = len(weights) - REASONS_SHOWN_MAX
    if left_out > 0:
        page.line(faint(f"... {_counted(left_out, 'more reason')}"), indent=2)


def remarks(tally: Tally, reading: Reading) -> list[str]:
    """Return what else is to be known, a sentence or two each.

    Args:
        tally: What was found.
        reading: What was met while files were read.
    """
    said: list[str] = []
    if not tally.runs:
        said.append(
            "No spans were found, nor records. Name files that OpenTelemetry spans were exported to, or replay records."
        )
    if reading.broken_count:
        first = reading.broken[0].partition(". ")[0]
        said.append(
            f"{_counted(reading.broken_count, 'broken value')} left out, the first: {first}. Spans may be missing, so "
            "contracts on what must come before or after are not judged where they seem violated; what holds, holds "
            "of the rest."
        )
    if reading.late:
        said.append(f"{_counted(reading.late, 'span')} came after their traces had been judged, and did not count.")
    uncounted = uncounted_tools(tally)
    if uncounted:
        more = f" and {len(uncounted) - TOOLS_SHOWN_MAX} more" if len(uncounted) > TOOLS_SHOWN_MAX else ""
        said.append(
            f"Nothing is said of what these tools commit: {', '.join(uncounted[:TOOLS_SHOWN_MAX])}{more}. "
            "Name them in `effects` or in `read_only` of --contracts."
        )
    for tool, found in sorted(tally.suspects.items()):
        one = found.number == 1
        said.append(
            f"{_counted(found.number, 'answer')} of the tool {tool!r} {'looks' if one else 'look'} like "
            f"{'an error and counts as a commit' if one else 'errors and count as commits'}, the first at "
            f"{found.place}: {found.answer!r}. If a call with such an answer has failed, say so in --contracts, for "
            f"example `failed_when: {{{tool}: {found.rule}}}`; if it has not, `failed_when: {{{tool}: []}}`."
        )
    rules = tally.checks.rules
    for tool in sorted({*rules.effects, *rules.failed_when.conditions} - {EVERY}):
        if tally.tools and tool not in tally.tools:
            nearest = difflib.get_close_matches(tool, tally.tools, n=1, cutoff=0.6)
            hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
            key = "effects" if tool in rules.effects else "failed_when"
            said.append(f"The tool {tool!r}, which has `{key}`, is called in no trace.{hint}")
    return said


def checked_json(tally: Tally, reading: Reading) -> dict[str, Plain]:
    """Return what was found as plain data.

    Args:
        tally: What was found.
        reading: What was met while files were read.
    """
    return {
        "traces": tally.runs,
        "steps": tally.steps,
        "spans": reading.spans,
        "unfinished": tally.unfinished,
        "violated": tally.violated,
        "judged": tally.judged,
        "violations": [_finding_json(found) for found in tally.findings],
        "violations_left_out": tally.findings_count - len(tally.findings),
        "contracts": [
            {
                "contract": contract.id,
                "severity": contract.severity.value,
                "holds": count.holds,
                "violated": count.violated,
                "unfair": count.unfair,
                "unknown": dict(count.unknown.most_common(100)),
            }
            for contract in tally.checks.contracts
            for count in [tally.counts.get(contract.id, Count())]
        ],
        "broken": list(reading.broken),
        "broken_count": reading.broken_count,
        "remarks": list(remarks(tally, reading)),
    }


def _finding_json(found: Finding) -> Plain:
    return {
        "contract": found.contract,
        "severity": found.severity.value,
        "reason": found.reason,
        "file": found.where.file,
        "line": found.where.line or None,
        "trace": found.trace_id or None,
        "span": found.span_id or None,
        "step": found.step,
        "hook": found.hook or None,
        "agent": _agent_of(found) or None,
        "unfair": found.unfair,
    }


def cases_of_checks(tally: Tally) -> list[Case]:
    """Return cases for the formats of other tools: each violation of a hard contract, and each other contract."""
    cases: list[Case] = []
    for contract in tally.checks.contracts:
        count = tally.counts.get(contract.id, Count())
        found = [one for one in tally.findings if one.contract == contract.id and not one.unfair]
        if count.violated and contract.severity.value == "hard":
            cases += map(_failed, found)
            left_out = count.violated - len(found)
            if left_out > 0:
                message = f"violated in {_counted(left_out, 'more trace')}"
                cases.append(
                    Case(contract.id, f"{contract.id}, more", "failed", message, path=tally.findings[0].where.file)
                )
        elif not count.holds:
            cases.append(Case(contract.id, contract.id, "open", next(iter(count.unknown), "no trace was read")))
        else:
            cases.append(Case(contract.id, contract.id, "passed"))
    return cases


def _failed(found: Finding) -> Case:
    """Return the case of a violation; its fingerprint leaves out the line, which other traces in the file move."""
    trace = f"trace {found.trace_id}, span {found.span_id}" if found.trace_id else ""
    step = "at the end of the run" if found.step is None else f"step {found.step}, {found.hook}"
    place = ", ".join(filter(None, (trace, step)))
    mark = digest_of([printable(text) for text in (found.contract, found.where.file, place)])[:24]
    file, line = found.where
    return Case(found.contract, f"{found.where}, {place}", "failed", found.reason, "", file, mark, line)


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
