"""What differs between two stored studies, as a page for people and as plain data."""

from __future__ import annotations

from collections.abc import Sequence

from chaosagent.api.stored.comparing import StoredStudy, StudyComparison
from chaosagent.canonical import Plain
from chaosagent.metrics.comparison import WORSE, Change, Difference, SearchKey, SearchOutcome
from chaosagent.report.causes.cause import cause_json
from chaosagent.report.causes.report_causes import CHEAPEST, headline_cell
from chaosagent.report.formats.github import markdown_table, markdown_text
from chaosagent.report.page import Cell, Page, Span, bad, faint, good, notice, strong
from chaosagent.report.story import quantity

ROWS_MAX = 20
MEANINGS = {
    Change.NEW: "the second study found it, and the first one proved that nothing so cheap broke the contract",
    Change.CHEAPER: "the second study found a cheaper one, which the first one proved impossible",
    Change.GONE: "the first study found it, and the second one proved that nothing so cheap breaks the contract now",
    Change.DEARER: "it takes more now, as the second study proved",
    Change.PROVED: "nothing is known to break it, and now that is proved",
    Change.UNPROVED: "it was proved, and is open now",
    Change.MISSED: "only the second study found it, and the first target breaks by it, too: it is not new",
    Change.INCOMPARABLE: "one study found what the other one did not search for",
}
BY_CAUSE = {"new or cheaper": WORSE, "gone": frozenset({Change.GONE})}


def comparison_page(compared: StudyComparison) -> Page:
    """Return what differs, the worst first."""
    first, second, result = compared.first, compared.second, compared.comparison
    page = Page().line(strong("From "), _named(first)).line(strong("to   "), _named(second))
    page.gap().line(verdict_of(compared))
    _tell_causes(page, compared)
    for change in MEANINGS:
        found = [one for one in result.differences if one.change is change]
        if found:
            _tell(page, change, found, compared)
    _tell_unshared(page, compared)
    counts = ", ".join(f"{number} {change.value}" for change, number in result.counts.items() if number)
    page.gap().line(faint(f"{_searches(sum(result.counts.values()))} in both: {counts or 'none'}"))
    if result.open_in_both:
        page.line(
            faint(f"{_searches(result.open_in_both)} of the same ones are open in both: nothing found or proved.")
        )
    if first.settings.search.all_minimal or second.settings.search.all_minimal:
        page.line(faint("Of several counterexamples of a search, the cheapest one is compared."))
    return page


def comparison_markdown(compared: StudyComparison) -> str:
    """Return what differs as Markdown, for a comment on a change: the verdict, and a table, the worst first."""
    first, second, result = compared.first, compared.second, compared.comparison
    rows = [
        (
            one.change.value,
            one.key.contract,
            one.key.task,
            str(one.key.seed),
            outcome_text(one.before),
            outcome_text(one.after),
            "; ".join(filter(None, (_schedule_of(one, compared), one.note))),
        )
        for one in result.differences
    ]
    counts = ", ".join(f"{number} {change.value}" for change, number in result.counts.items() if number)
    studies = f"From {markdown_text(_named(first))} to {markdown_text(_named(second))}."
    shared = f"{_searches(sum(result.counts.values()))} in both: {counts or 'none'}."
    parts = [f"### chaosagent: {markdown_text(verdict_of(compared).text)}", f"{studies} {shared}"]
    if rows:
        parts.append(markdown_table(("", "contract", "task", "seed", "before", "after", "schedule"), rows).rstrip())
    if unshared := _unshared(compared):
        parts.append(markdown_table(("not in both", "", ""), unshared).rstrip())
    return "\n\n".join(parts) + "\n"


def verdict_of(compared: StudyComparison) -> Span:
    """Return whether the second study is worse, in a sentence."""
    result = compared.comparison
    worse = [f"{result.counts[change]} {change.value}" for change in MEANINGS if change in WORSE]
    if result.worse:
        return bad(f"Worse: {' and '.join(one for one in worse if not one.startswith('0 '))}.")
    if not (result.same or result.differences):
        return notice("Nothing can be compared: no search is in both studies.")
    if result.undetermined:
        lost = result.counts[Change.UNPROVED]
        number = sum(one.may_be_worse for one in result.differences) - lost
        told = []
        if number:
            them = "it" if number == 1 else "them"
            told.append(
                f"{quantity(number, 'counterexample')} of the second study may be new or cheaper, as the first one did "
                f"not search for {them}. Run {them} on the first target with --replay, resume the first one with more "
                "--trials, or search it up to a higher budget."
            )
        if lost:
            verb = "proves" if lost == 1 else "prove"
            searches = quantity(lost, "search", "searches")
            told.append(
                f"{searches.capitalize() if told else searches} of the second study no longer {verb} what the first "
                "one proved, so something new may be left to find there. Resume the second one."
            )
        return notice(f"Cannot be told: {' '.join(told)}")
    return good(f"Nothing is new or cheaper up to a budget of {compared.budget:g}.")


def _tell_causes(page: Page, compared: StudyComparison) -> None:
    """Say by cause what got worse and what got better: one mistake breaks several contracts in several tasks."""
    for title, changes in BY_CAUSE.items():
        causes = compared.causes(changes)
        if causes:
            page.heading(f"{quantity(len(causes), 'cause').capitalize()} of what is {title}")
            rows: list[Sequence[Cell]] = [
                (
                    f"{cause.lead.cost:g}",
                    str(len(cause.findings)),
                    headline_cell(cause),
                    faint("-") if cause.pattern is None else cause.pattern.name,
                )
                for cause in causes[:ROWS_MAX]
            ]
            page.table(("cost", "searches", CHEAPEST, "known pattern"), rows)
            if len(causes) > ROWS_MAX:
                page.line(faint(f"... {len(causes) - ROWS_MAX} more (--json lists them)"), indent=2)


def _tell(page: Page, change: Change, found: Sequence[Difference], compared: StudyComparison) -> None:
    page.heading(f"{quantity(len(found), 'search', 'searches').capitalize()}: {change.value}")
    by_replay = ", or it was run on the first target and held" if change is Change.NEW and compared.replayed else ""
    page.line(faint(f"{MEANINGS[change]}{by_replay}"), indent=2)
    is_open = change in (Change.PROVED, Change.UNPROVED)
    head = ("contract", "task", "seed", "before", "after", "" if is_open else "schedule")
    page.table(head, [_row(one, compared) for one in found[:ROWS_MAX]])
    if len(found) > ROWS_MAX:
        page.line(faint(f"... {len(found) - ROWS_MAX} more (--json lists them)"), indent=2)


def _row(one: Difference, compared: StudyComparison) -> Sequence[Cell]:
    schedule = _schedule_of(one, compared)
    return (
        one.key.contract,
        one.key.task,
        str(one.key.seed),
        outcome_text(one.before),
        outcome_text(one.after),
        (schedule, faint(f"{'; ' if schedule else ''}{one.note}")) if one.note else schedule,
    )


def _schedule_of(one: Difference, compared: StudyComparison) -> str:
    told = compared.second if one.after.counterexample else compared.first
    known = told.counterexamples.get(one.after.counterexample or one.before.counterexample)
    return "" if known is None else str(known.schedule)


def outcome_text(outcome: SearchOutcome) -> str:
    """Return what a search found or proved, for people."""
    if outcome.cost == 0:
        return "broken without faults"
    if outcome.cost is not None:
        return f"cost {outcome.cost:g}"
    if outcome.proved_up_to is not None:
        return f"proved up to {outcome.proved_up_to:g}"
    return f"nothing below {outcome.proved_below:g}" if outcome.proved_below > 0 else "open"


def _tell_unshared(page: Page, compared: StudyComparison) -> None:
    rows = _unshared(compared)
    if rows:
        page.heading("Not in both")
        page.table((), rows)


def _unshared(compared: StudyComparison) -> list[tuple[str, str, str]]:
    """Return what only one of the studies has, which is not compared: a contract may have been left out of one."""
    first, second, result = compared.first, compared.second, compared.comparison
    rows: list[tuple[str, str, str]] = []
    for told, keys, operators in zip(
        ("only the first", "only the second"),
        (result.only_before, result.only_after),
        compared.unshared_operators,
        strict=True,
    ):
        if keys:
            rows.append((told, _searches(len(keys)), listed(keys)))
        if operators:
            rows.append((told, "operators", ", ".join(operators[:ROWS_MAX])))
    if first.result.budget != second.result.budget:
        rows.append(("budgets differ", f"{first.result.budget:g} and {second.result.budget:g}", ""))
    for name, one in (("the first", first), ("the second", second)):
        if one.result.interrupted:
            rows.append((name, "was interrupted", f"chaosagent search STUDY.yaml --resume --out {one.folder}"))
    return rows


def listed(keys: Sequence[SearchKey]) -> str:
    """Return the first of some searches, and how many more there are."""
    shown = ", ".join(f"{one.contract} in {one.task}, seed {one.seed}" for one in keys[:3])
    return f"{shown} ... {len(keys) - 3} more" if len(keys) > 3 else shown


def _named(study: StoredStudy) -> str:
    result = study.result
    return f"{study.folder}: {result.target}, configuration {result.config}, budget {result.budget:g}"


def _searches(number: int) -> str:
    return f"{number:,} {'search' if number == 1 else 'searches'}"


def comparison_json(compared: StudyComparison) -> dict[str, Plain]:
    """Return the same as plain data."""
    result, (first, second) = compared.comparison, compared.unshared_operators
    return {
        "first": _study_json(compared.first),
        "second": _study_json(compared.second),
        "budget": compared.budget,
        "worse": result.worse,
        "undetermined": result.undetermined,
        "open_in_both": result.open_in_both,
        "counts": {change.value: number for change, number in result.counts.items()},
        "causes": {title: [cause_json(one) for one in compared.causes(changes)] for title, changes in BY_CAUSE.items()},
        "differences": [_difference_json(one) for one in result.differences],
        "only_first": {"searches": [list(one) for one in result.only_before], "operators": list(first)},
        "only_second": {"searches": [list(one) for one in result.only_after], "operators": list(second)},
        "replayed": compared.replayed,
    }


def _study_json(study: StoredStudy) -> dict[str, Plain]:
    result = study.result
    return {
        "folder": str(study.folder),
        "target": result.target,
        "config": result.config,
        "budget": result.budget,
        "digest": result.digest,
        "interrupted": result.interrupted,
    }


def _difference_json(one: Difference) -> Plain:
    def told(outcome: SearchOutcome) -> dict[str, Plain]:
        return {
            "cost": outcome.cost,
            "proved_below": outcome.proved_below,
            "proved_up_to": outcome.proved_up_to,
            "counterexample": outcome.counterexample or None,
        }

    return {
        **one.key._asdict(),
        "change": one.change.value,
        "before": told(one.before),
        "after": told(one.after),
        "may_be_worse": one.may_be_worse,
        "note": one.note or None,
    }
