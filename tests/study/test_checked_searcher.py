"""What a plug-in searcher raises or returns is blamed on it, and what it claims is compared with what it is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from chaosagent.contracts.catalogue import default_contracts
from chaosagent.errors import SearcherError, UsageError
from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.execution.workers.workbench import Workbench
from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.schedule import EMPTY, Schedule, parse
from chaosagent.faults.space import Choices, Space
from chaosagent.searchers.exact import exact
from chaosagent.searchers.proof.uniform_cost import ExactSearcher
from chaosagent.study.checked_searcher import CheckedSearcher
from chaosagent.study.loop.study import Study
from chaosagent.study.plan import Plan
from chaosagent.study.result import SearchResult, StudyResult
from chaosagent.study.searcher import SEARCHERS, Problem, Proposal, Purpose, SearchProgress
from chaosagent.study.shrinking.minimise import violates
from chaosagent.study.sink import Sink
from chaosagent.targets.loading import load_target
from chaosagent.testing.searchers import BUDGET, CONTRACTS, bench

NAME = "test/plugin"
FOREIGN = parse("service:s0[1]@agent service.delay(seconds=3)")


class Odd(ExactSearcher):
    """Does as `exact` until it is to go wrong."""

    def __init__(self, problem: Problem, **parts: Any) -> None:
        super().__init__(problem)
        self._parts, self._asks = parts, 0

    def ask(self, count: int) -> list[Proposal]:
        self._asks += 1
        if "ask" in self._parts and self._asks > self._parts.get("after", 0):
            found: list[Proposal] = self._parts["ask"](count)
            return found
        return super().ask(count)

    def tell(self, evaluation: Evaluation) -> None:
        super().tell(evaluation)
        self._parts.get("tell", lambda _: None)(evaluation)

    @property
    def finished(self) -> bool:
        found: bool = self._parts["finished"]() if "finished" in self._parts else super().finished
        return found

    @property
    def progress(self) -> SearchProgress:
        found: SearchProgress = self._parts["progress"]() if "progress" in self._parts else super().progress
        return found

    def known_to_hold(self, schedule: Schedule) -> bool:
        found: bool = self._parts.get("known_to_hold", super().known_to_hold)(schedule)
        return found

    def audit(self, count: int) -> list[Proposal]:
        found: list[Proposal] = self._parts["audit"]() if "audit" in self._parts else super().audit(count)
        return found


@pytest.fixture
def plugged() -> Iterator[Callable[..., None]]:
    """Return what makes a searcher known to studies for one test."""

    def plug(factory: Callable[..., Any]) -> None:
        SEARCHERS._load()[NAME] = factory

    yield plug
    SEARCHERS._load().pop(NAME, None)


def fail(*_: object) -> Any:
    raise ValueError("no luck")


def leave(*_: object) -> Any:
    raise SystemExit(3)


def checked(plug: Callable[..., None], factory: Callable[..., Any], contract: str = CONTRACTS[0]) -> CheckedSearcher:
    plug(factory)
    return CheckedSearcher(NAME, bench().problem(contract, BUDGET), {})


def drive(searcher: CheckedSearcher) -> None:
    while proposals := searcher.ask(4):
        for proposal in proposals:
            searcher.tell(bench().run(proposal.schedule))
    assert searcher.finished
    assert searcher.progress is not None
    searcher.audit(4)


def dear(_: int) -> list[Proposal]:
    """Propose a fault at every place of the run without injections."""
    places = [crossing.place for crossing in bench().run(EMPTY).crossings]
    texts = [f"{place.interface}[{place.occurrence}]@{place.agent} service.lost_response" for place in places]
    return [Proposal(parse("; ".join(texts)), Purpose.CERTIFY)]


def wrong_parts(parts: Any) -> Any:
    """Return what the type checker would refuse."""
    return parts


wrong: Callable[..., Any] = Proposal
STALE = parse("service:s0[1]@agent service.stale_response; service:s1[1]@agent service.stale_response").injections

BROKEN: list[tuple[dict[str, Any], str]] = [
    (
        {"ask": fail},
        r"'test/plugin': ask raised ValueError: no luck \(at test_checked_searcher\.py:\d+ in fail\)\. Fix",
    ),
    ({"ask": leave}, r"ask raised SystemExit"),
    ({"ask": lambda _: None}, r"ask returned None, not a list of Proposals"),
    ({"ask": lambda _: [EMPTY]}, r"among its proposals, which is no Proposal: write Proposal\(schedule\)"),
    ({"ask": lambda _: [wrong("all")]}, r"ask proposed Proposal\(schedule='all'.*it takes a Schedule and a Purpose"),
    ({"ask": lambda _: [wrong(EMPTY, "explore")]}, r"it takes a Schedule and a Purpose"),
    ({"ask": lambda _: [wrong(EMPTY, policy=1)]}, r"ask proposed the policy 1, which is no Policy"),
    ({"ask": lambda count: [Proposal(EMPTY)] * (count + 1)}, r"ask returned 5 proposals; it was asked for at most 4"),
    ({"ask": lambda _: [Proposal(FOREIGN)]}, r"ask proposed service:s0.*delay.*which lies outside of the space"),
    (
        {"ask": lambda _: [Proposal(parse("service:s0[*]@agent service.stale_response"))]},
        r"ask proposed service:s0\[\*\]@agent service.stale_response.*no injection at one place",
    ),
    *(
        ({"ask": lambda _, made=made: [Proposal(made, Purpose.EXPLORE)]}, rf"ask proposed .*{made_otherwise}")
        for made, made_otherwise in (
            (Schedule(wrong_parts(1)), "a schedule of 1, which was not made by"),
            (Schedule(wrong_parts([STALE[0]])), r"a schedule of \[.*which was not made by"),
            (Schedule((STALE[0], STALE[0])), "two at one place, which was not made by"),
            (Schedule((STALE[1], STALE[0])), "out of order or .* which was not made by"),
            (Schedule((wrong_parts([]),)), r"a schedule of \[\], which is no Injection"),
        )
    ),
    ({"tell": fail}, r"tell raised ValueError: no luck"),
    ({"finished": fail}, r"finished raised ValueError"),
    ({"finished": lambda: "no"}, r"finished is 'no', neither True nor False"),
    ({"finished": lambda: fail}, r"neither True nor False\. Write @property above it"),
    ({"progress": lambda: 2.0}, r"progress is 2\.0, not a SearchProgress"),
    ({"progress": lambda: SearchProgress(float("nan"), "C1")}, r"progress has lower_bound=nan; it must be a number"),
    ({"progress": lambda: SearchProgress(-1.0, "C1")}, r"progress has lower_bound=-1\.0"),
    ({"progress": lambda: SearchProgress(1.0, "gold")}, r"progress has level='gold'; it must be one of C0, C1"),
    ({"audit": lambda: None}, r"audit returned None, not a list"),
]


@pytest.mark.parametrize(("parts", "complaint"), BROKEN)
def test_what_a_searcher_does_wrong_is_told_with_its_name_and_the_method(
    plugged: Callable[..., None], parts: dict[str, Any], complaint: str
) -> None:
    searcher = checked(plugged, lambda problem: Odd(problem, **parts))

    with pytest.raises(SearcherError, match=complaint) as caught:
        drive(searcher)

    assert caught.value.exit_code == 2
    assert (searcher.progress, searcher.finished) == (SearchProgress(), False)
    assert (searcher.ask(3), searcher.audit(3)) == ([], [])


def test_what_it_says_is_known_to_hold_is_true_or_false(plugged: Callable[..., None]) -> None:
    fine = checked(plugged, Odd)
    vague = checked(plugged, lambda problem: Odd(problem, known_to_hold=lambda _: "perhaps"))
    raising = checked(plugged, lambda problem: Odd(problem, known_to_hold=fail))

    assert fine.known_to_hold is not None
    assert fine.known_to_hold(FOREIGN) is False
    for searcher, complaint in (
        (vague, "known_to_hold returned 'perhaps', not true or false"),
        (raising, "known_to_hold raised ValueError: no luck"),
    ):
        assert searcher.known_to_hold is not None
        with pytest.raises(SearcherError, match=complaint):
            searcher.known_to_hold(FOREIGN)
        assert searcher.known_to_hold(FOREIGN) is False
        assert searcher.ask(1) == []


def test_only_what_explores_may_be_dearer_than_the_budget(plugged: Callable[..., None]) -> None:
    certifies = checked(plugged, lambda problem: Odd(problem, ask=dear))
    explores = checked(plugged, lambda problem: Odd(problem, ask=lambda _: [Proposal(dear(1)[0].schedule)]))

    assert explores.ask(1)
    with pytest.raises(SearcherError, match=r"above the budget of 2\.3; only what explores or probes"):
        certifies.ask(1)


def test_one_that_cannot_be_made_or_lacks_a_method_is_refused_at_once(plugged: Callable[..., None]) -> None:
    with pytest.raises(SearcherError, match="its constructor raised ValueError: no luck"):
        checked(plugged, fail)
    with pytest.raises(SearcherError, match="ask is missing: list has no such method"):
        checked(plugged, lambda problem: [problem])


def test_a_mistake_in_a_setting_is_not_blamed_on_the_searcher() -> None:
    with pytest.raises(UsageError, match=r"searcher 'beam': search\.settings\.width is 0") as caught:
        CheckedSearcher("beam", bench().problem(CONTRACTS[0], BUDGET), {"width": 0})

    assert not isinstance(caught.value, SearcherError)


# ---------------------------------------------------------------------- claims


def test_an_honest_searcher_is_believed(plugged: Callable[..., None]) -> None:
    for contract in CONTRACTS:
        searcher = checked(plugged, exact, contract)
        drive(searcher)

        truth = bench().minimum(contract, BUDGET)
        assert not searcher.disproved
        assert searcher.progress.lower_bound == (float("inf") if truth is None else truth)


def test_a_bound_above_what_a_run_has_broken_is_not_believed_from_then_on(plugged: Callable[..., None]) -> None:
    claims = 2.25
    searcher = checked(plugged, lambda problem: Odd(problem, progress=lambda: SearchProgress(claims, "C2")))
    searcher.tell(bench().run(EMPTY))
    before = searcher.progress
    while not searcher.disproved:
        searcher.tell(bench().run(searcher.ask(1)[0].schedule))

    truth = bench().minimum(CONTRACTS[0], BUDGET)
    assert before == SearchProgress(2.25, "C2")
    assert searcher.progress == SearchProgress()
    assert "claimed that nothing cheaper than 2.25 breaks the contract" in searcher.disproved
    assert f"a schedule of cost {truth:g} does" in searcher.disproved


def test_a_violation_above_the_budget_contradicts_no_claim(plugged: Callable[..., None]) -> None:
    searcher = checked(plugged, lambda problem: Odd(problem, progress=lambda: SearchProgress(float("inf"), "C1")))
    dearest = bench().run(dear(1)[0].schedule)
    searcher.tell(bench().run(EMPTY))
    searcher.tell(dearest)

    assert violates(dearest, CONTRACTS[0])
    assert dearest.effective.declared_cost(bench().space.model) > BUDGET
    assert not searcher.disproved
    assert searcher.progress.lower_bound == float("inf")


def test_one_that_takes_its_claim_back_when_told_has_made_it_all_the_same(
    plugged: Callable[..., None],
) -> None:
    held = {"bound": float("inf")}

    def correct(_: Evaluation) -> None:
        violated = bench().minimum(CONTRACTS[0], BUDGET)
        told = [schedule for schedule in bench().executed if schedule != EMPTY]
        held["bound"] = (violated or 0.0) if told else held["bound"]

    parts = {"tell": correct, "progress": lambda: SearchProgress(held["bound"], "C1")}
    searcher = checked(plugged, lambda problem: Odd(problem, **parts))
    searcher.tell(bench().run(EMPTY))
    held["bound"] = float("inf")
    while not searcher.disproved and (proposals := searcher.ask(1)):
        held["bound"] = float("inf")
        searcher.tell(bench().run(proposals[0].schedule))

    assert "nothing within the budget breaks the contract" in searcher.disproved
    assert searcher.progress.lower_bound == 0.0


def test_nothing_is_believed_before_the_run_without_injections_nor_above_what_could_not_be_run(
    plugged: Callable[..., None],
) -> None:
    searcher = checked(
        plugged, lambda problem: Odd(problem, progress=lambda: SearchProgress(float("inf"), "C1")), "rare-needle"
    )
    (first,) = searcher.ask(1)
    nothing = searcher.progress
    searcher.tell(bench().run(first.schedule))
    everything = searcher.progress
    (failed,) = searcher.ask(1)
    searcher.tell(Evaluation(failed.schedule, Status.ERROR, "killed"))

    assert first.schedule == EMPTY
    assert (nothing.lower_bound, nothing.level) == (0.0, "C0")
    assert everything.lower_bound == float("inf")
    assert searcher.progress.lower_bound == failed.schedule.declared_cost(bench().space.model)


# ---------------------------------------------------------------------- in a study


def plan(**more: Any) -> Plan:
    found = load_target("refund")
    bare = Plan(
        target=found,
        target_reference="refund",
        config=found.config("naive"),
        tasks=tuple(found.tasks.values()),
        seeds=(0,),
        contracts=default_contracts(),
        space=Space((Choices("service.lost_response", {}), Choices("service.timeout", {}))),
        budget=2.2,
        searcher=NAME,
    )
    return replace(bare, **more)


class Results(Sink):
    """Keeps how searches ended."""

    def __init__(self) -> None:
        self.over: list[SearchResult] = []

    def search_over(self, result: SearchResult) -> None:
        self.over.append(result)


def run(of: Plan, *sinks: Sink) -> StudyResult:
    return Study(of, InlineExecutor(Workbench(of.target, of.config, of.contracts)), sinks=sinks).run()


def test_what_was_found_before_a_searcher_broke_is_told(plugged: Callable[..., None]) -> None:
    honest = run(plan(searcher="exact"))
    plugged(lambda problem: Odd(problem, ask=fail, after=12))
    kept = Results()

    with pytest.raises(SearcherError, match="ask raised ValueError"):
        run(plan(), kept)

    found = {counterexample.id for result in kept.over for counterexample in result.counterexamples}
    assert found
    assert found <= {counterexample.id for counterexample in honest.counterexamples}
    assert any(result.certificate.limit_reached for result in kept.over)


def test_a_false_bound_gives_no_certificate_and_is_said(plugged: Callable[..., None]) -> None:
    plugged(lambda problem: Odd(problem, progress=lambda: SearchProgress(float("inf"), "C2")))

    result = run(plan())

    assert any(search.counterexamples for search in result.searches)
    for search in result.searches:  # what it claims of contracts that nothing broke is no better
        assert not search.certificate.safe
        assert str(search.certificate).startswith("nothing is proved: searcher 'test/plugin' claimed that nothing")
        assert not any(found.certificate.certified for found in search.counterexamples)
