"""Searches of stochastic targets go on past flakes, and find what their first world hides."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from chaosagent.canonical import Plain
from chaosagent.contracts.catalogue import default_contracts
from chaosagent.contracts.contract import End, Monitor, Reading, Setting, violated
from chaosagent.contracts.monitors import AtEnd
from chaosagent.contracts.settings import ContractSettings
from chaosagent.effects.rule import effect
from chaosagent.execution.execute import Experiment, execute
from chaosagent.execution.run.frozen import answers_of
from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.schedule import EMPTY, Schedule, parse
from chaosagent.faults.space import Choices, Space
from chaosagent.replays.codec import decode, encode
from chaosagent.replays.record import ReplayRecord, record_of
from chaosagent.seeds import derive
from chaosagent.study.chance.confirmation import Confirmation
from chaosagent.study.chance.fresh_runs import FreshRuns
from chaosagent.study.chance.racing import Racer, without_violation
from chaosagent.study.loop.search import Search
from chaosagent.study.loop.study import Study
from chaosagent.study.plan import ErrorRates, Plan
from chaosagent.study.result import SearchResult
from chaosagent.study.shrinking.minimise import violates
from chaosagent.study.sink import Sink
from chaosagent.study.store.files import ANSWERS_NAME
from chaosagent.study.store.study_store import StudyStore
from chaosagent.study.task_seed import TaskSeed
from chaosagent.study.trial import Trial
from chaosagent.targets.target import Run, Target, target
from chaosagent.trace.trace import ContractVerdict
from chaosagent.vocabulary import Outcome, SystemConfig, Task, Verdict


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


PAID_ONCE = PaidOnce()
pytestmark = pytest.mark.slow
LOST = parse("service:bank[1] service.lost_response(when=after)")
FAILED_PAYMENTS = (
    LOST,
    parse("service:bank[1] service.lost_response(when=before)"),
    parse("service:bank[1] service.timeout(when=after)"),
)
"""The agent hears the same in all of them, and what it says of its payments is what is judged."""


class Model:
    """Says yes to some share of the questions, by chance, and counts them."""

    def __init__(self, share: float, flake: float, seed: int) -> None:
        self.share, self.flake, self.seed, self.asked = share, flake, seed, 0

    def chat(self, prompt: str) -> Plain:
        """Answer."""
        self.asked += 1
        share = self.share if "failed" in prompt else self.flake
        drawn = derive(self.seed, "model", self.asked).random()
        return {"content": "yes" if drawn < share else "no", "tool_calls": []}


def refunder(model: Model) -> Target:
    """An agent that pays, and after a failure asks its model whether to pay again or to say that it has."""

    @target(name="refunder", tasks=[Task("pay")], configs=[SystemConfig("default")])
    async def agent(task: Task, run: Run) -> Outcome:
        del task
        bank = run.service("bank", {"pay": lambda amount: {"paid": amount}}, effects={"pay": effect("amount")})
        assistant = run.model("assistant", {"chat": model.chat})
        heard = "fine"
        for _ in range(2):
            await assistant("chat", prompt=heard)
            try:
                await bank("pay", amount=5)
            except (ConnectionError, TimeoutError):
                heard = "failed"
                if (await assistant("chat", prompt="failed; again?"))["content"] == "no":
                    break
            else:
                break
        return Outcome("paid", success=True)

    return agent


def payer(model: Model) -> Target:
    """An agent that looks two things up, pays, and asks its model whether to pay again."""

    @target(name="payer", tasks=[Task("pay")], configs=[SystemConfig("default")])
    async def agent(task: Task, run: Run) -> Outcome:
        del task
        rates = run.service("rates", {"get": lambda of: {"of": of}}, read_only=True)
        bank = run.service("bank", {"pay": lambda amount: {"paid": amount}}, effects={"pay": effect("amount")})
        assistant = run.model("assistant", {"chat": model.chat})
        missing = 0
        for of in ("here", "there"):
            try:
                await rates("get", of=of)
            except (ConnectionError, TimeoutError):
                missing += 1
        try:
            await bank("pay", amount=5)
            heard = "fine"
        except (ConnectionError, TimeoutError):
            heard = "failed"
        again = (await assistant("chat", prompt=f"{heard}, {missing} missing; again?"))["content"] == "yes"
        if again:
            await bank("pay", amount=5)
        return Outcome("paid", success=not again, state={"payments": 1 + again})

    return agent


def plan_of(model: Model, folder: Path, searcher: str = "exact", budget: float = 1.3) -> Plan:
    folder.mkdir(exist_ok=True)
    system = payer(model)
    return Plan(
        target=system,
        target_reference="payer",
        config=system.config("default"),
        tasks=tuple(system.tasks.values()),
        seeds=(0,),
        contracts=(PAID_ONCE,),
        space=Space([Choices("service.lost_response", {}), Choices("service.timeout", {"when": ("after",)})]),
        budget=budget,
        searcher=searcher,
        lookahead=1,
        stochastic=True,
        answers=folder / ANSWERS_NAME,
    )


class TrialLog(Sink):
    """Notes what was run where, what violated in the first world, and what was tested."""

    def __init__(self) -> None:
        self.worlds: list[int] = []
        self.seen: list[Schedule] = []
        self.tests: list[tuple[Schedule, Confirmation]] = []

    def executed(self, at: TaskSeed, evaluation: Evaluation) -> None:
        del evaluation
        self.worlds.append(at.world)

    def trial(self, at: TaskSeed, contract: str, trial: Trial) -> None:
        del at
        if violates(trial.evaluation, contract):
            self.seen.append(trial.schedule)

    def judged(self, at: TaskSeed, contract: str, schedule: Schedule, confirmation: Confirmation) -> None:
        assert (at.world, contract) == (0, PAID_ONCE.id)
        self.tests.append((schedule, confirmation))


def search(plan: Plan, *sinks: Sink) -> SearchResult:
    (result,) = Study(plan, InlineExecutor(plan.workbench()), sinks=sinks).run().searches
    return result


def digest_of(record: ReplayRecord, plan: Plan) -> str:
    """Return the digest of the recorded run with the answers of the record."""
    bare = Experiment(plan.target, record.task, record.config, record.seed, plan.contracts)
    experiment = replace(bare, answers=answers_of(record.answers, bare.scope)).with_nominal()
    return execute(experiment, record.schedule).trace.digest


def test_a_weakness_that_the_first_world_hides_is_found_in_another_and_its_record_reproduces(tmp_path: Path) -> None:
    hidden = 0
    for seed in range(8):
        model = Model(0.4, 0.0, seed)
        plan, told = plan_of(model, tmp_path / str(seed)), TrialLog()
        result = search(plan, told)
        found = result.counterexample

        assert found is not None
        assert found.schedule in FAILED_PAYMENTS
        assert found.minimal
        assert found.confirmation is not None
        assert found.confirmation.confirmed
        record = decode(encode(record_of(found, plan)), "record")
        assert record.confirmation == found.confirmation
        asked = model.asked
        assert digest_of(record, plan) == found.trace.digest
        assert model.asked == asked
        hidden += found.schedule not in told.seen
    assert hidden >= 4


def test_flakes_are_listed_apart_and_are_no_counterexamples(tmp_path: Path) -> None:
    listed, seen = 0, 0
    for seed in range(10):
        result = search(plan_of(Model(0.15, 0.15, seed), tmp_path / str(seed)))
        listed += len(result.counterexamples)
        seen += len(result.doubtful)
        assert all(not one.confirmation.confirmed for one in result.doubtful)
        assert [one.cost for one in result.doubtful] == sorted(one.cost for one in result.doubtful)
    assert seen >= 3
    assert listed <= 2  # a twentieth of the studies on average


def test_a_search_that_begins_with_a_flake_without_injections_goes_on(tmp_path: Path) -> None:
    class Wrong(Model):
        def chat(self, prompt: str) -> Plain:
            answer = super().chat(prompt)
            return {"content": "yes", "tool_calls": []} if self.asked == 1 else answer

    result = search(plan_of(Wrong(0.9, 0.0, 0), tmp_path))

    assert not result.violated_nominally
    assert result.counterexample is not None


def test_what_happens_anyway_is_reported_as_that(tmp_path: Path) -> None:
    result = search(plan_of(Model(1.0, 0.95, 1), tmp_path))

    assert result.violated_nominally
    assert result.counterexamples == ()
    assert result.certificate.broken_anyway is not None
    assert result.certificate.broken_anyway.interval.low > 0.5
    assert str(result.certificate).startswith("broken without any injection with P = ")
    assert "cheaper than 0" not in str(result.certificate)


def test_a_certificate_says_how_many_clean_runs_each_class_has(tmp_path: Path) -> None:
    result = search(plan_of(Model(0.0, 0.0, 0), tmp_path))

    assert result.certificate.safe
    assert result.certificate.level == "S"
    assert result.certificate.clean is not None
    assert result.certificate.clean.runs == 17
    assert "17 clean runs with other answers of each of" in str(result.certificate)
    assert "in less than 0.20 of runs (error 0.025 each)" in str(result.certificate)


@pytest.mark.parametrize("searcher", ["anytime", "random"])
def test_shrinking_ends_at_no_flake(tmp_path: Path, searcher: str) -> None:
    for seed in range(3):
        result = search(plan_of(Model(0.9, 0.1, seed), tmp_path / f"{searcher}{seed}", searcher, budget=3.3))
        found = result.counterexample

        assert found is not None
        assert [str(injection.hook) for injection in found.schedule] == ["service:bank[1]"]
        assert found.confirmation is not None
        assert found.confirmation.confirmed


def test_a_study_that_is_gone_on_with_asks_no_model_again_in_any_world(tmp_path: Path) -> None:
    model = Model(0.3, 0.02, 5)
    plan = plan_of(model, tmp_path)
    store = StudyStore.create(tmp_path, plan, "")
    first = search(plan, store)
    store.close()
    asked, told = model.asked, TrialLog()

    store = StudyStore.resume(tmp_path, plan)
    earlier = replace(store.earlier(), finished={})  # as if its search had not been over
    (second,) = Study(plan, InlineExecutor(plan.workbench()), sinks=[store, told], earlier=earlier).run().searches
    store.close("digest")

    assert max(told.worlds) > 0
    assert str(first.certificate) == str(second.certificate)
    assert [found.id for found in first.counterexamples] == [found.id for found in second.counterexamples]
    assert model.asked == asked


@pytest.mark.parametrize("share", [0.3, 0.6])
def test_a_fault_that_only_the_world_tells_from_a_cheaper_one_is_raced_for_itself(tmp_path: Path, share: float) -> None:
    space = Space([Choices("service.lost_response", {})])  # before the payment it is harmless, after it is not
    for seed in range(4):
        model = Model(share, 0.0, seed)
        plan = plan_of(model, tmp_path / str(seed), budget=1.2)
        system = refunder(model)
        contracts = tuple(one for one in default_contracts() if one.id == "at-most-once")
        plan = replace(plan, target=system, tasks=tuple(system.tasks.values()), contracts=contracts, space=space)
        result = search(plan)

        assert result.counterexample is not None
        assert result.counterexample.schedule == LOST


def test_what_stays_undecided_keeps_its_search_open(tmp_path: Path) -> None:
    for seed in range(3):
        result = search(replace(plan_of(Model(0.6, 0.0, seed), tmp_path / str(seed)), confirmations=3))
        certificate = result.certificate

        assert result.counterexample is None
        assert result.doubtful
        assert all(one.confirmation.undecided for one in result.doubtful)
        assert not certificate.safe
        assert certificate.lower_bound <= min(one.cost for one in result.doubtful)
        assert "chance" not in str(certificate)
        assert "no schedule confirmed as violating and cheaper than" in str(certificate)


def test_confirmed_classes_are_not_among_the_clean_ones(tmp_path: Path) -> None:
    plan = replace(plan_of(Model(1.0, 0.0, 1), tmp_path), all_minimal=True)
    plan = replace(
        plan, space=Space([Choices("service.lost_response", {"when": ("after",)}, interfaces=("service:bank",))])
    )
    result = search(plan)

    assert [found.schedule for found in result.counterexamples] == [LOST]
    assert result.certificate.clean is None
    assert result.certificate.level != "S"


def test_runs_in_further_worlds_make_no_classes(tmp_path: Path) -> None:
    plan = plan_of(Model(0.0, 0.0, 0), tmp_path)
    study = Study(plan, InlineExecutor(plan.workbench()))
    racer = Racer(plan, TaskSeed("pay", 0), PAID_ONCE, study._fresh)
    held = (ContractVerdict(PAID_ONCE.id, Verdict.HOLDS, 1.0),)
    run = Evaluation(LOST, effective=LOST, asked=b"asked", verdicts=held)

    racer.judged(run, cost_max=math.inf, world=3)
    assert not racer.due(math.inf)
    racer.judged(run, cost_max=math.inf)
    assert racer.due(math.inf)


def test_where_answers_come_by_chance_the_searcher_that_is_told_says_what_matters_of_a_violation(
    tmp_path: Path,
) -> None:
    plan = plan_of(Model(0.0, 0.0, 0), tmp_path, "anytime")
    study = Study(plan, InlineExecutor(plan.workbench()))
    search = Search(plan, TaskSeed("pay", 0), PAID_ONCE, 0, study._finisher.signature)
    before = search.searcher
    search.expect_chance(Racer(plan, search.at, PAID_ONCE, study._fresh))

    assert search.searcher is not before
    assert search._shrinker._core == search.searcher.core != before.core


def test_only_the_contract_in_question_is_told_otherwise() -> None:
    verdicts = (ContractVerdict("one", Verdict.VIOLATED, -0.5), ContractVerdict("other", Verdict.VIOLATED, -0.5))
    doubted = without_violation(Evaluation(EMPTY, verdicts=verdicts), "one")

    assert [verdict.verdict for verdict in doubted.verdicts] == [Verdict.HOLDS, Verdict.VIOLATED]
    assert doubted.verdicts[0].margin == 0.0


@pytest.mark.parametrize(("beta", "difference"), [(0.05, 0.2), (0.2, 0.3), (0.01, 0.1)])
def test_what_is_missed_in_all_worlds_and_what_is_dropped_share_the_error_that_is_declared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, beta: float, difference: float
) -> None:
    asked: list[ErrorRates] = []

    def confirm(self: FreshRuns, at: TaskSeed, schedule: Schedule, contract: str, rates: ErrorRates) -> object:
        del self, at, schedule, contract
        asked.append(rates)
        return Confirmation(1, 1, 0, 1)

    monkeypatch.setattr(FreshRuns, "confirm", confirm)
    plan = replace(plan_of(Model(0.0, 0.0, 0), tmp_path), beta=beta, difference=difference)
    racer = Racer(plan, TaskSeed("pay", 0), PAID_ONCE, Study(plan, InlineExecutor(plan.workbench()))._fresh)
    racer.confirmation_of(LOST)
    never_seen = (1.0 - difference) ** racer.worlds_max

    assert never_seen + asked[0].beta <= beta + 1e-9


def test_what_breaks_without_faults_now_and_then_is_said_with_its_probability(tmp_path: Path) -> None:
    told = 0
    for seed in range(6):
        certificate = search(plan_of(Model(0.15, 0.15, seed), tmp_path / str(seed))).certificate
        share = certificate.broken_anyway
        told += share is not None
        assert share is None or share.runs >= 20
        assert share is None or share.interval.low <= 0.15 <= share.interval.high
        assert (share is not None) == ("Broken without injections, too, with P = " in str(certificate))
    assert told >= 4
