"""What a study found, told and as data."""

import json
from dataclasses import replace

import pytest

from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.schedule import EMPTY, parse
from chaosagent.report.findings import Findings, findings_page, next_page, work_of
from chaosagent.report.findings_json import findings_json
from chaosagent.report.notes import Notes
from chaosagent.study.result import SearchResult, StudyResult
from chaosagent.study.searcher import Purpose
from chaosagent.study.task_seed import TaskSeed
from chaosagent.study.trial import Trial


def changed(findings: Findings, **terms: object) -> Findings:
    """Return the findings with another result."""
    return replace(findings, result=replace(findings.result, **terms))  # type: ignore[arg-type]  # fields named by the test


def test_counterexamples_are_told_with_their_proof(findings: Findings) -> None:
    page = findings_page(findings).text()

    assert "shop, configuration default: two tasks, one seed, six searches, budget 1.2" in page
    assert "Two counterexamples, two kinds of failure" in page
    assert page.count("certified") == 2
    assert r"late\x1b[2J\u202e\x07" in page


def test_each_contract_is_counted_by_how_its_searches_ended(findings: Findings) -> None:
    lines = findings_page(findings).text().splitlines()

    rows = {line.split()[0]: line.split()[1:] for line in lines[lines.index("By contract") + 2 :][:3]}
    assert rows == {"at-most-once": ["1", "1", "-"], "objective": ["1", "1", "-"], "no-crash": ["-", "2", "-"]}


def test_nothing_found_and_all_proved_is_said_plainly(findings: Findings) -> None:
    safe = [search for search in findings.result.searches if search.certificate.safe]

    page = findings_page(changed(findings, searches=tuple(safe))).text()

    told = "Nothing of cost up to 1.2 in the declared space breaks any contract: proved for all 4 searches."
    assert told in page


def cut_off(findings: Findings) -> tuple[SearchResult, ...]:
    """Return the searches that found nothing, as if they had been ended early."""
    short = [search for search in findings.result.searches if search.counterexample is None]
    return tuple(
        replace(search, certificate=replace(search.certificate, lower_bound=1.0, limit_reached=True))
        for search in short
    )


def test_a_limit_and_an_interrupt_are_told_apart(findings: Findings) -> None:
    ended = changed(findings, searches=cut_off(findings))

    limits = replace(ended.plan.limits, trials_max=min(search.trials for search in ended.result.searches))
    limit = findings_page(replace(ended, plan=replace(ended.plan, limits=limits))).text()
    interrupt = findings_page(changed(ended, interrupted=True)).text()

    assert "Four searches ended at a limit. Give more with --trials" in limit
    assert "No counterexample was found." in limit
    assert "nothing cheaper than 1" in limit
    assert "Four searches had not finished." in interrupt
    assert next_page(ended).text() == ""


def test_who_ran_out_of_time_is_not_told_to_give_more_trials(findings: Findings) -> None:
    ended = changed(findings, searches=cut_off(findings))
    limits = replace(ended.plan.limits, seconds_max=60.0)

    of_day = " ".join(findings_page(ended).text().split())
    of_study = " ".join(findings_page(replace(ended, plan=replace(ended.plan, limits=limits))).text().split())

    assert "Four searches ended as the time was over. Give the same command with --resume to go on" in of_day
    assert "with --resume and --seconds above 60 to go on" in of_study
    assert "--trials" not in of_day + of_study


def test_an_interrupt_after_the_searches_leaves_none_unfinished(findings: Findings) -> None:
    ended = changed(findings, searches=cut_off(findings), interrupted=True)
    limits = replace(ended.plan.limits, trials_max=min(search.trials for search in ended.result.searches))

    page = findings_page(replace(ended, plan=replace(ended.plan, limits=limits))).text()

    assert "had not finished" not in page
    assert "Four searches ended at a limit." in page


def test_what_breaks_without_faults_is_not_counted_among_what_could_be_proved(findings: Findings) -> None:
    safe = [search for search in findings.result.searches if search.certificate.safe]
    broken = replace(safe[0], violated_nominally=True)
    broken = replace(broken, certificate=replace(broken.certificate, cost=0.0))

    one = findings_page(changed(findings, searches=(broken, *safe[1:]))).text()
    hollow = findings_page(changed(findings, searches=(broken, replace(safe[1], injectable=False), *safe[2:]))).text()

    assert "breaks the other contracts: proved for the 3 other searches." in one
    assert "proved for 2 of the 3 other searches." in hollow


def test_runs_of_an_earlier_session_that_an_interrupted_one_did_not_come_to_are_not_taken_for_lost(
    findings: Findings,
) -> None:
    ended = changed(findings, searches=cut_off(findings), interrupted=True)

    def told(runs: int) -> str:
        return findings_page(changed(ended, unused_earlier=runs)).text()

    assert "made earlier" not in told(0)
    assert " 1 run of earlier sessions is stored, but has not been asked for again" in told(1)
    assert "2,060 runs of earlier sessions are stored" in " ".join(told(2060).split())


def test_a_bound_is_told_only_where_it_is_proved(findings: Findings) -> None:
    def told(**terms: object) -> str:
        searches = tuple(
            replace(search, certificate=replace(search.certificate, **terms))  # type: ignore[arg-type]  # as above
            for search in findings.result.searches
            if search.counterexample is None
        )
        return findings_page(changed(findings, searches=searches)).text()

    assert "nothing cheaper than" not in told(reproduced=False)
    assert "nothing cheaper than" not in told(reproduced=False, lower_bound=1.0)
    assert "nothing cheaper than 1\n" in told(lower_bound=1.0)


def test_an_unsteady_target_a_withdrawn_rule_and_errors_are_told_loudly(findings: Findings) -> None:
    unsteady = tuple(
        replace(
            search,
            certificate=replace(search.certificate, contradictions=1),
            counterexamples=tuple(replace(found, confirmed=False) for found in search.counterexamples),
        )
        for search in findings.result.searches
    )

    page = findings_page(changed(findings, searches=unsteady, errors=3)).text()

    assert "The audit contradicted a rule six times: it was switched off" in page
    assert "Two counterexamples did not repeat in a fresh run (" in page
    assert "at-most-once in late" in page
    assert "): the target is not deterministic." in page
    assert "Three runs ended with errors; nothing is proved beyond the cost of the cheapest." in page


@pytest.mark.parametrize(("lower_bound", "proof"), [(0.0, "minimal"), (1.05, "nothing below 1.05")])
def test_a_counterexample_that_is_not_certified_says_what_is_proved(
    findings: Findings, lower_bound: float, proof: str
) -> None:
    weaker = tuple(
        replace(
            search,
            counterexamples=(
                replace(
                    search.counterexample, certificate=replace(search.certificate, lower_bound=lower_bound, level="C1")
                ),
            ),
        )
        for search in findings.result.searches
        if search.counterexample is not None
    )

    page = findings_page(changed(findings, searches=weaker)).text()

    assert page.count(proof) == 2
    assert "certified" not in page


def test_what_to_type_next_names_the_counterexample_with_most_faults(findings: Findings) -> None:
    page = next_page(findings).text()

    assert "chaosagent show out/replays/" in page
    assert "chaosagent replay --mode exact out/replays" in page


def test_as_data_an_infinite_bound_is_null_and_explained(findings: Findings) -> None:
    data = json.loads(json.dumps(findings_json(findings)))

    assert [(one["certified"], one["injections"]) for one in data["counterexamples"]] == [(True, 1)] * 2
    safe = [search for search in data["searches"] if search["safe"]]
    assert {search["lower_bound"] for search in safe} == {None}
    assert len(data["searches"]) == 6


@pytest.mark.parametrize("count", [0, 1])
def test_an_empty_study_is_no_crash(findings: Findings, count: int) -> None:
    nothing = StudyResult(findings.result.searches[:0], 0, 0, 0, "", float(count))

    assert "0 trials in 0 runs" in findings_page(replace(findings, result=nothing)).text()


def test_errors_are_told_with_their_reason_three_at_most(findings: Findings) -> None:
    notes = Notes()
    for number, error in enumerate(["full", "full", "a \x1b[2J", "b", "c"]):
        evaluation = Evaluation(EMPTY, Status.ERROR, error)
        notes.trial(TaskSeed("late", number), "no-crash", Trial(0, EMPTY, Purpose.EXPLORE, evaluation))

    told = replace(changed(findings, errors=2), notes=notes)
    lines = findings_page(told).text().splitlines()

    begin = lines.index("Five runs ended with errors; nothing is proved beyond the cost of the cheapest.")
    assert lines[begin + 1 : begin + 8] == [
        "  full",
        "    two runs, the first in task late, seed 0, under: no injection",
        r"  a \x1b[2J",
        "    in task late, seed 2, under: no injection",
        "  b",
        "    in task late, seed 3, under: no injection",
        "  ... one more error of another kind (--json lists it)",
    ]
    assert [one["error"] for one in json.loads(json.dumps(findings_json(told)))["failed"]] == [
        "full",
        "a \x1b[2J",
        "b",
        "c",
    ]


def test_what_does_harm_is_told_before_what_merely_fails(findings: Findings) -> None:
    once = next(found for found in findings.result.counterexamples if found.contract == "at-most-once")
    two = replace(once, schedule=parse("service:b[1] service.timeout; service:b[2] service.timeout"), cost=1.0)
    searches = tuple(
        replace(findings.result.searches[0], counterexamples=(replace(found, contract=contract),))
        for contract, found in (
            ("no-crash", once),
            ("objective", once),
            ("my-own", once),
            ("no-leak", two),
            ("no-leak", once),
            ("at-most-once", two),
        )
    )

    ordered = changed(findings, searches=searches).by_harm

    assert [(found.contract, len(found.schedule)) for found in ordered] == [
        ("at-most-once", 2),
        ("no-leak", 1),
        ("no-leak", 2),
        ("my-own", 1),
        ("objective", 1),
        ("no-crash", 1),
    ]


@pytest.mark.parametrize(
    ("terms", "warning"),
    [
        ({"injectable": False}, "In four searches nothing could be injected: nothing is proved there. Allow operators"),
        ({"effect_count": 0}, "No task commits an effect in its run without faults: most default contracts compare"),
    ],
)
def test_a_proof_that_says_nothing_is_told_loudly(findings: Findings, terms: dict[str, object], warning: str) -> None:
    hollow = [replace(search, **terms) for search in findings.result.searches]  # type: ignore[arg-type]  # as above

    assert warning in findings_page(changed(findings, searches=tuple(hollow))).text()
    assert warning not in findings_page(findings).text()


def test_effects_that_doors_declare_need_not_be_declared_again(findings: Findings) -> None:
    hollow = tuple(replace(search, effect_count=0) for search in findings.result.searches)
    notes = Notes()
    notes.executed(TaskSeed("late", 0), Evaluation(EMPTY, declares_effects=True))

    page = findings_page(replace(changed(findings, searches=hollow), notes=notes)).text()

    assert "Its doors declare `effects`, so that is right if these tasks should change nothing." in page
    assert "declare `effects` at its doors" not in page


def test_nothing_is_said_of_effects_where_nothing_has_run_yet(findings: Findings) -> None:
    searches = tuple(replace(search, effect_count=0, trials=0) for search in findings.result.searches)

    page = findings_page(changed(findings, searches=searches, trials=0, executions=0)).text()

    assert "No task commits" not in page


def test_a_study_in_which_nothing_could_be_injected_proves_nothing(findings: Findings) -> None:
    hollow = [replace(search, injectable=False) for search in findings.result.searches if search.certificate.safe]

    page = findings_page(changed(findings, searches=tuple(hollow))).text()

    assert "No counterexample was found." in page
    assert "Nothing of cost" not in page
    rows = [line.split() for line in page.splitlines() if line.startswith(("  no-crash", "  objective"))]
    assert all(row[1:] == ["-", "nothing", "to", "inject", "-"] for row in rows)
    assert rows


def test_searches_in_which_nothing_could_be_injected_are_counted_apart(findings: Findings) -> None:
    safe = [search for search in findings.result.searches if search.contract == "no-crash"]
    searches = (safe[0], replace(safe[1], injectable=False))

    told = changed(findings, searches=searches)

    assert "no-crash  -       1, 1 nothing to inject" in findings_page(told).text()
    assert "proved for 1 of 2 searches" in findings_page(told).text()
    data = json.loads(json.dumps(findings_json(told)))
    assert [search["safe"] for search in data["searches"]] == [True, False]


def test_a_budget_that_admits_nothing_is_told_with_what_would(findings: Findings) -> None:
    hollow = tuple(replace(search, injectable=False) for search in findings.result.searches)
    told = changed(findings, searches=hollow)

    page = findings_page(replace(told, plan=replace(findings.plan, budget=0.5))).text()

    assert "nothing could be injected: the cheapest fault costs 1.1, and the budget is 0.5. Raise the budget." in page


def test_one_is_told_as_one(findings: Findings) -> None:
    result = replace(findings.result, trials=1, executions=1, errors=1)

    assert work_of(result).startswith("1 trial in 1 run, 1 error, ")
    assert work_of(replace(result, trials=2, executions=2, errors=0)).startswith("2 trials in 2 runs, 0 errors, ")
