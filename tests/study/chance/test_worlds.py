"""What one world of frozen answers hides: branches that the target takes by chance."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from chaosagent.contracts.contract import End, Monitor, Reading, Setting, violated
from chaosagent.contracts.monitors import AtEnd
from chaosagent.contracts.settings import ContractSettings
from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.faults.schedule import parse
from chaosagent.faults.space import Choices, Space
from chaosagent.report.findings import is_open
from chaosagent.seeds import derive
from chaosagent.study.chance import racing
from chaosagent.study.chance.worlds import UnvisitedSites, describe_unseen, progress_of_both
from chaosagent.study.loop.study import Study
from chaosagent.study.plan import Plan
from chaosagent.study.result import SearchResult
from chaosagent.study.searcher import Purpose, SearchProgress
from chaosagent.study.sink import Sink
from chaosagent.study.store.files import ANSWERS_NAME
from chaosagent.study.store.study_store import StudyStore
from chaosagent.study.task_seed import TaskSeed
from chaosagent.study.trial import Trial
from chaosagent.targets.target import Run, Target, target
from chaosagent.vocabulary import Outcome, SystemConfig, Task, Verdict

pytestmark = pytest.mark.slow
BEYOND = "service:reserve[1] service.lost_response(when=after)"
MAIN = "service:bank[1] service.lost_response(when=after)"
DIARY = "service:diary[1] service.lost_response(when=after)"


@dataclass(frozen=True, slots=True, kw_only=True)
class PaidOnce(ContractSettings):
    """The agent says that it has paid once."""

    id: str = "paid-once"

    def monitor(self, setting: Setting) -> Monitor:
        """Return a fresh check for one run."""
        del setting
        return AtEnd(_judge)


def _judge(end: End) -> Reading:
    return Reading(Verdict.HOLDS, 1.0) if end.outcome.state == {"payments": 1} else violated("it paid more often")


class Model:
    """Says in some share of its answers that the bank is down; the first answers are given."""

    def __init__(self, share: float, seed: int, first: tuple[bool, ...] = ()) -> None:
        self.share, self.seed, self.first, self.asked = share, seed, first, 0

    def chat(self, prompt: str) -> dict[str, object]:
        """Answer."""
        del prompt
        self.asked += 1
        by_chance = derive(self.seed, "model", self.asked).random() < self.share
        down = self.first[self.asked - 1] if self.asked <= len(self.first) else by_chance
        return {"content": "down" if down else "up", "tool_calls": []}


def forked(model: Model, *, weak: str) -> Target:
    """An agent that asks its model which bank to pay with; behind a weak one it pays twice after a failure.

    Where all are weak, a failure of its diary makes it pay twice, too, whichever bank it is.
    """

    @target(name="forked", tasks=[Task("pay")], configs=[SystemConfig("default")])
    async def agent(task: Task, run: Run) -> Outcome:
        del task
        banks = {name: run.service(name, {"pay": lambda: 1}) for name in ("bank", "reserve")}
        assistant = run.model("assistant", {"chat": model.chat})
        chosen = "reserve" if (await assistant("chat", prompt="which?"))["content"] == "down" else "bank"
        payments = 1
        try:
            await banks[chosen]("pay")
        except (ConnectionError, TimeoutError):
            payments += weak in (chosen, "both", "all")
        if weak == "all":
            try:
                await run.service("diary", {"note": lambda: 1})("note")
            except (ConnectionError, TimeoutError):
                payments += 1
        return Outcome("paid", success=True, state={"payments": payments})

    return agent


def plan_of(model: Model, folder: Path, *, weak: str) -> Plan:
    folder.mkdir(exist_ok=True)
    system = forked(model, weak=weak)
    return Plan(
        target=system,
        target_reference="forked",
        config=system.config("default"),
        tasks=tuple(system.tasks.values()),
        seeds=(0,),
        contracts=(PaidOnce(),),
        space=Space([Choices("service.lost_response", {"when": ("after",)})]),
        budget=1.3,
        lookahead=1,
        stochastic=True,
        answers=folder / ANSWERS_NAME,
    )


def search(plan: Plan, *sinks: Sink) -> SearchResult:
    (result,) = Study(plan, InlineExecutor(plan.workbench()), sinks=sinks).run().searches
    return result


class Asked(Sink):
    """Takes what was asked for in which world."""

    def __init__(self) -> None:
        self.trials: list[tuple[int, Trial]] = []

    def trial(self, at: TaskSeed, contract: str, trial: Trial) -> None:
        del contract
        self.trials.append((at.world, trial))


def test_a_first_world_that_goes_as_few_do_is_not_the_one_that_is_searched(tmp_path: Path) -> None:
    for seed in range(6):
        rare = Model(0.1, seed, first=(True,))
        result = search(plan_of(rare, tmp_path / str(seed), weak="bank"))

        assert result.counterexample is not None
        assert result.counterexample.schedule == parse(MAIN)
        assert result.counterexample.confirmation is not None
        assert result.counterexample.confirmation.confirmed


def test_a_branch_of_few_worlds_is_searched_in_one_of_those(tmp_path: Path) -> None:
    found = 0
    for seed in range(6):
        result = search(plan_of(Model(0.35, seed), tmp_path / str(seed), weak="reserve"))
        if result.counterexample is None:
            assert not result.certificate.safe
            continue
        found += 1
        assert result.counterexample.schedule == parse(BEYOND)
        assert result.counterexample.confirmed
    assert found >= 4


def test_all_branches_that_were_met_are_covered_by_what_is_said_of_a_robust_target(tmp_path: Path) -> None:
    result = search(plan_of(Model(0.35, 1), tmp_path, weak="none"))

    assert result.certificate.safe
    assert result.certificate.worlds_searched == 2
    assert "1 further set of answers searched that lead elsewhere" in str(result.certificate)


def test_a_place_that_was_met_and_not_searched_keeps_the_search_open_and_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(racing, "WORLDS_SEARCHED_MAX", 1)
    for weak in ("reserve", "none"):
        result = search(plan_of(Model(0.25, 2), tmp_path / weak, weak=weak))

        assert result.counterexample is None
        assert is_open(result)
        assert 0 < result.certificate.lower_bound <= 1.3
        assert "Another draw of the answers reached service:reserve[1] (pay), which this search never saw" in str(
            result.certificate
        )


def test_a_search_of_two_worlds_that_is_gone_on_with_ends_alike_and_asks_no_model(tmp_path: Path) -> None:
    model = Model(0.35, 1)
    plan = plan_of(model, tmp_path, weak="reserve")
    store = StudyStore.create(tmp_path, plan, "")
    first = Study(plan, InlineExecutor(plan.workbench()), sinks=[store]).run()
    store.close()
    asked = model.asked

    store = StudyStore.resume(tmp_path, plan)
    second = Study(plan, InlineExecutor(plan.workbench()), sinks=[store], earlier=store.earlier()).run()
    store.close(second.digest)

    assert first.counterexamples
    assert first.digest == second.digest
    assert str(first.searches[0].certificate) == str(second.searches[0].certificate)
    assert model.asked == asked
    with closing(sqlite3.connect(tmp_path / "study.db")) as connection:
        rows = connection.execute("SELECT certified FROM counterexample UNION ALL SELECT certified FROM search")
        assert rows.fetchall() == [(0,), (0,)]


@pytest.mark.parametrize("searcher", ["exact", "anytime"])
def test_all_minimal_ones_of_all_branches_are_found(tmp_path: Path, searcher: str) -> None:
    for seed in range(3):
        plan = plan_of(Model(0.35, seed), tmp_path / str(seed), weak="both")
        result = search(replace(plan, all_minimal=True, searcher=searcher))

        assert {found.schedule for found in result.counterexamples} == {parse(MAIN), parse(BEYOND)}
        assert all(found.confirmed and found.minimal for found in result.counterexamples)
        assert all(found.confirmation and found.confirmation.confirmed for found in result.counterexamples)
        assert result.certificate.complete
        assert result.certificate.worlds_searched == 2
        assert "2 in all" in str(result.certificate)


def test_of_all_minimal_ones_only_those_are_claimed_whose_places_were_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(racing, "WORLDS_SEARCHED_MAX", 1)
    result = search(replace(plan_of(Model(0.35, 1), tmp_path, weak="both"), all_minimal=True))

    assert [found.schedule for found in result.counterexamples] == [parse(BEYOND)]
    assert not result.certificate.complete
    assert result.certificate.known_below == pytest.approx(1.1)
    assert "all minimal counterexamples cheaper than 1.1 are known, 1 found, dearer ones are open" in str(
        result.certificate
    )
    assert "reached service:bank[1] (pay), which this search never saw" in str(result.certificate)


@pytest.mark.parametrize("searcher", ["exact", "anytime", "diversity"])
def test_what_is_known_of_one_world_is_told_and_not_searched_on_in_the_next(tmp_path: Path, searcher: str) -> None:
    asked = Asked()
    plan = replace(plan_of(Model(0.35, 1), tmp_path, weak="all"), all_minimal=True, budget=2.3, searcher=searcher)
    result = search(plan, asked)

    assert {found.schedule for found in result.counterexamples} == {parse(MAIN), parse(BEYOND), parse(DIARY)}
    first = asked.trials[0][0]
    beyond = [trial for world, trial in asked.trials if world != first]
    probed = {trial.schedule for trial in beyond if trial.purpose is Purpose.PROBE}
    assert len(probed) == 2
    assert parse(DIARY) in probed
    assert beyond[0].schedule == parse("")
    later = [trial.schedule for trial in beyond[1 + len(probed) :]]
    assert all(not set(parse(DIARY)) < set(schedule) for schedule in later)


def test_a_search_for_kinds_of_failure_goes_to_another_world_only_for_what_is_missing(tmp_path: Path) -> None:
    plan = plan_of(Model(0.35, 1), tmp_path / "one", weak="both")
    enough = search(replace(plan, signatures=1))
    missing = search(replace(plan, signatures=3))

    assert (len(enough.counterexamples), enough.certificate.worlds_searched) == (1, 1)
    assert (len(missing.counterexamples), missing.certificate.worlds_searched) == (2, 2)


def test_a_search_for_all_in_two_worlds_that_is_gone_on_with_ends_alike(tmp_path: Path) -> None:
    model = Model(0.35, 1)
    plan = replace(plan_of(model, tmp_path, weak="all"), all_minimal=True)
    cut = replace(plan, limits=replace(plan.limits, trials_max=5))
    store = StudyStore.create(tmp_path, cut, "")
    first = Study(cut, InlineExecutor(cut.workbench()), sinks=[store]).run()
    store.close()
    store = StudyStore.resume(tmp_path, plan)
    second = Study(plan, InlineExecutor(plan.workbench()), sinks=[store], earlier=store.earlier()).run()
    store.close(second.digest)

    assert not first.searches[0].certificate.complete
    assert second.searches[0].certificate.complete
    elsewhere = replace(plan, answers=tmp_path / "afresh.db")
    afresh = Study(elsewhere, InlineExecutor(elsewhere.workbench())).run()
    assert {found.schedule for found in second.counterexamples} == {parse(MAIN), parse(BEYOND), parse(DIARY)}
    assert {found.schedule for found in afresh.counterexamples} == {parse(MAIN), parse(BEYOND), parse(DIARY)}


def test_what_is_known_of_two_worlds_is_what_is_known_of_both() -> None:
    first = SearchProgress(2.0, "C2", {"R1": 3}, 1, 0, {"R1": 1})
    second = SearchProgress(0.0, "C1", {"R1": 1, "R2": 4}, 2, 1, {"R2": 2})
    both = progress_of_both(first, second, 1.5)

    assert (both.lower_bound, both.level) == (1.5, "C1")  # what the first world covers holds at once
    assert (both.pruned, both.audited, both.contradictions) == ({"R1": 4, "R2": 4}, 3, 1)
    assert progress_of_both(first, SearchProgress(3.0, "C2"), 1.5).lower_bound == 2.0
    assert progress_of_both(None, second, 0.0) == second


def test_few_places_are_named_and_the_others_are_counted() -> None:
    unseen = [UnvisitedSites(f"service:s{number}[1]", "get", 1.0) for number in range(5)]

    assert describe_unseen(unseen).startswith("another draw of the answers reached service:s0[1] (get), service:s1[1]")
    assert "service:s2[1] (get) and 2 more places, which" in describe_unseen(unseen)
