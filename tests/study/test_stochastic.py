"""Targets whose models answer by chance: answers are frozen for the search, and fresh ones tell how likely it is."""

from __future__ import annotations

import gc
import random
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path

import pytest

from chaosagent.canonical import Plain
from chaosagent.contracts.catalogue import default_contracts
from chaosagent.effects.rule import effect
from chaosagent.errors import StudyError
from chaosagent.execution.answers_on_disk import AnswersOnDisk
from chaosagent.execution.execute import Experiment, execute
from chaosagent.execution.run.frozen import AnswersInMemory
from chaosagent.execution.workers.executor import Finished, InlineExecutor
from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.schedule import EMPTY, parse
from chaosagent.faults.space import Choices, Space
from chaosagent.limits import StudyLimits
from chaosagent.replays.codec import decode, encode
from chaosagent.replays.outcome import ReplayOutcome, RunsMax
from chaosagent.replays.record import ReplayRecord, record_of
from chaosagent.replays.rerun import rerun_exact, rerun_schedule
from chaosagent.statistics.intervals import wilson
from chaosagent.study.chance.confirmation import Confirmation
from chaosagent.study.loop.study import Study
from chaosagent.study.plan import Plan
from chaosagent.study.result import StudyProgress, StudyResult
from chaosagent.study.sink import Sink
from chaosagent.study.store.files import ANSWERS_NAME
from chaosagent.study.store.study_store import StudyStore
from chaosagent.study.task_seed import TaskSeed
from chaosagent.targets.target import Run, Target, target
from chaosagent.vocabulary import Outcome, SystemConfig, Task, Verdict

AT_MOST_ONCE = next(contract for contract in default_contracts() if contract.id == "at-most-once")
LOST = parse("service:bank[1] service.lost_response(when=after)")
Model = Callable[..., Plain]


def payer(model: Model, *, wording: str = "failed, again?") -> Target:
    """An agent that pays, and asks its model whether to pay again when that failed."""

    @target(name="payer", tasks=[Task("pay", {"amount": 5})], configs=[SystemConfig("default")])
    async def agent(task: Task, run: Run) -> Outcome:
        bank = run.service("bank", {"pay": lambda amount: {"paid": amount}}, effects={"pay": effect("amount")})
        assistant = run.model("assistant", {"chat": model})
        await assistant("chat", prompt=f"plan {task.id}")
        for _ in range(2):
            try:
                await bank("pay", amount=5)
            except ConnectionError:
                if (await assistant("chat", prompt=wording))["content"] != "yes":
                    break
            else:
                break
        return Outcome("paid", success=True)

    return agent


def undecided(share: float, seed: int = 0) -> Model:
    """A model that says yes to a share of the questions; as by chance, since nothing tells it which run asks."""
    chance = random.Random(seed)
    return lambda prompt: {"content": "yes" if chance.random() < share else "no", "tool_calls": []}  # noqa: ARG005


def plan_of(system: Target, folder: Path | None, **more: object) -> Plan:
    bare = Plan(
        target=system,
        target_reference="payer",
        config=system.config("default"),
        tasks=tuple(system.tasks.values()),
        seeds=(0, 1, 2),
        contracts=default_contracts(),
        contract_specs=tuple(contract.id for contract in default_contracts()),
        space=Space([Choices("service.lost_response", {}), Choices("service.timeout", {"when": ("after",)})]),
        budget=1.3,
        answers=None if folder is None else folder / ANSWERS_NAME,
    )
    return replace(bare, **more)  # type: ignore[arg-type]  # the tests know the fields


def search(plan: Plan) -> StudyResult:
    return Study(plan, InlineExecutor(plan.workbench())).run()


def trial_digest(result: StudyResult) -> tuple[str, list[tuple[int, str, str]]]:
    return result.digest, [(found.seed, found.contract, found.schedule.text) for found in result.counterexamples]


def confirmed(result: StudyResult) -> list[Confirmation]:
    return [found.confirmation for found in result.counterexamples if found.confirmation is not None]


def test_a_search_with_frozen_answers_is_deterministic_and_says_what_its_proof_holds_for(tmp_path: Path) -> None:
    result = search(plan_of(payer(undecided(0.5)), tmp_path))
    again = search(plan_of(payer(undecided(0.5, seed=99)), tmp_path))

    assert result.nature.stochastic
    assert "at model:assistant[1], answer: expected" in result.nature.reason
    assert trial_digest(result) == trial_digest(again)
    assert all("for the frozen answers of this study" in str(search.certificate) for search in result.searches)
    assert {search.certificate.level for search in result.searches if not search.counterexamples} == {"S"}
    assert all(found.confirmed and found.certificate.certified for found in result.counterexamples)


def test_a_deterministic_target_is_left_alone(tmp_path: Path) -> None:
    result = search(plan_of(payer(undecided(1.0)), tmp_path))

    assert not result.nature.stochastic
    assert not (tmp_path / ANSWERS_NAME).exists()
    assert result.counterexamples
    assert confirmed(result) == []
    assert "frozen" not in str(result.searches[0].certificate)


def test_the_interval_of_a_counterexample_covers_its_probability_in_about_95_of_100_studies(tmp_path: Path) -> None:
    share, covered, total = 0.7, 0, 0
    for seed in range(20):
        (tmp_path / str(seed)).mkdir()
        plan = plan_of(payer(undecided(share, seed)), tmp_path / str(seed), stochastic=True, contracts=(AT_MOST_ONCE,))
        for confirmation in confirmed(search(plan)):
            assert confirmation.runs == confirmation.nominal_runs
            assert confirmation.nominal_violations == 0
            assert confirmation.confirmed
            covered += confirmation.interval.low <= share <= confirmation.interval.high
            total += 1

    assert total > 20
    assert covered / total > 0.85


def test_what_happens_without_any_fault_just_as_often_is_called_chance() -> None:
    assert not Confirmation(violations=6, runs=20, nominal_violations=4, nominal_runs=20).confirmed
    assert Confirmation(violations=20, runs=20, nominal_violations=4, nominal_runs=20).confirmed
    assert "that may be chance" in str(Confirmation(6, 20, 4, 20))
    assert Confirmation(6, 20, 4, 20).interval == wilson(6, 20)


def test_chance_outside_of_the_models_is_refused_with_its_likely_cause(tmp_path: Path) -> None:
    chance = random.Random(0)

    @target(name="restless", tasks=[Task("a")])
    async def restless(task: Task, run: Run) -> Outcome:
        del task
        door = run.service("log", {"write": lambda text: text})
        await door("write", text=f"{chance.random()}")
        return Outcome("done", success=True)

    with pytest.raises(StudyError, match=r"not deterministic, so nothing found.*run\.rng"):
        search(plan_of(restless, tmp_path))


def test_a_stochastic_target_needs_a_file_for_its_answers() -> None:
    with pytest.raises(StudyError, match=r"Plan\.answers"):
        search(plan_of(payer(undecided(0.5)), None, stochastic=True))


def test_a_search_goes_on_with_the_same_answers_and_the_same_fresh_runs(tmp_path: Path) -> None:
    asked = 0
    model = undecided(0.5)

    def counting(prompt: str) -> Plain:
        nonlocal asked
        asked += 1
        return model(prompt=prompt)

    plan = plan_of(payer(counting), tmp_path)
    store = StudyStore.create(tmp_path, plan, "")
    first = Study(plan, InlineExecutor(plan.workbench()), sinks=[store]).run()
    store.close()  # without a digest: as if the process had died at the very end
    asked = 0
    store = StudyStore.resume(tmp_path, plan)
    second = Study(plan, InlineExecutor(plan.workbench()), sinks=[store], earlier=store.earlier()).run()
    store.close(second.digest)

    assert first.nature.stochastic
    assert second.nature.stochastic
    assert trial_digest(first) == trial_digest(second)
    assert confirmed(first) == confirmed(second) != []
    assert asked == 0


# ---------------------------------------------------------------------- one run


def experiment_of(system: Target, answers: AnswersInMemory | AnswersOnDisk | None) -> Experiment:
    bare = Experiment(system, system.task("pay"), system.config("default"), 0, default_contracts(), answers=answers)
    return bare.with_nominal()


def test_the_same_request_at_the_same_place_gets_the_same_answer_in_every_run(tmp_path: Path) -> None:
    for answers in (AnswersInMemory(), AnswersOnDisk(tmp_path / "answers.db")):
        experiment = experiment_of(payer(undecided(0.5)), answers)

        digests = {execute(experiment, LOST).trace.digest for _ in range(20)}

        assert len(digests) == 1


def test_the_file_of_frozen_answers_is_closed_when_nobody_has_them_any_more(tmp_path: Path) -> None:
    answers = AnswersOnDisk(tmp_path / "answers.db")
    answers.keep(b"question", b"answer")
    assert answers._opened is not None
    connection = answers._opened.connection

    del answers
    gc.collect()

    with pytest.raises(sqlite3.ProgrammingError, match="closed database"):  # else Python complains, some time later
        connection.execute("SELECT 1")


def test_without_frozen_answers_runs_differ() -> None:
    experiment = experiment_of(payer(undecided(0.5)), None)

    assert len({execute(experiment, LOST).trace.digest for _ in range(20)}) == 4  # two answers, each yes or no


def test_another_seed_task_or_configuration_draws_its_own_answers() -> None:
    answers = AnswersInMemory()
    experiment = experiment_of(payer(undecided(0.5)), answers)
    execute(experiment, EMPTY)
    known = len(answers)

    execute(replace(experiment, seed=1), EMPTY)
    assert len(answers) == known + 1
    execute(replace(experiment, config=SystemConfig("default", {"style": "curt"})), EMPTY)
    assert len(answers) == known + 2


def test_a_failure_of_the_model_is_frozen_like_an_answer() -> None:
    chance = random.Random(3)

    def flaky(prompt: str) -> Plain:
        if chance.random() < 0.5:
            raise TimeoutError("overloaded")
        return {"content": prompt, "tool_calls": []}

    endings = set()
    for _ in range(10):
        experiment = experiment_of(payer(flaky), AnswersInMemory())
        runs = [execute(experiment, EMPTY).trace for _ in range(5)]
        assert len({trace.digest for trace in runs}) == 1
        endings.add(runs[0].ending)
    assert len(endings) == 2


def test_what_has_effects_cannot_be_declared_pure() -> None:
    @target(name="wrong", tasks=[Task("pay")])
    async def wrong(task: Task, run: Run) -> Outcome:
        del task
        run.service("bank", {"pay": lambda: 1}, effects={"pay": effect()}, pure=True)
        return Outcome("done")

    with pytest.raises(Exception, match=r"pure and declares its effects, too"):
        execute(Experiment(wrong, wrong.task("pay"), wrong.config("default"), 0), EMPTY)


# ---------------------------------------------------------------------- replays


def record_from(folder: Path, *, share: float = 0.5) -> ReplayRecord:
    plan = plan_of(payer(undecided(share)), folder, seeds=tuple(range(6)))
    result = search(plan)
    found = next(found for found in result.counterexamples if found.contract == "at-most-once")
    record = record_of(found, plan)
    return decode(encode(record), "record")


def offline(prompt: str) -> Plain:
    raise AssertionError(f"the model was asked {prompt!r}")


def test_a_replay_of_an_unchanged_target_needs_no_model(tmp_path: Path) -> None:
    record = record_from(tmp_path)

    assert record.confirmation is not None
    assert rerun_exact(record, payer(offline)).outcome is ReplayOutcome.REPRODUCED
    replay = rerun_schedule(record, payer(offline))
    assert replay.outcome is ReplayOutcome.VIOLATED
    assert not [note for note in replay.notes if "fresh" in note]


def test_a_target_that_asks_something_else_is_run_several_times(tmp_path: Path) -> None:
    record = record_from(tmp_path)

    changed = rerun_schedule(record, payer(undecided(0.5), wording="it failed; pay again?"), runs_max=RunsMax(draws=30))
    mended = rerun_schedule(record, payer(undecided(0.0), wording="it failed; pay again?"), runs_max=RunsMax(draws=30))

    assert changed.outcome is ReplayOutcome.VIOLATED
    assert any("of 30 runs with fresh ones" in note for note in changed.notes)
    assert mended.outcome is ReplayOutcome.HELD
    assert any("violated in 0 of 30 runs" in note for note in mended.notes)


def test_records_of_deterministic_targets_hold_no_answers(tmp_path: Path) -> None:
    record = record_from(tmp_path, share=1.0)

    assert record.answers == ()
    assert record.confirmation is None
    assert not record.stochastic


# ---------------------------------------------------------------------- runs that do not repeat


def test_chance_that_shows_only_under_a_fault_takes_the_proof_away(tmp_path: Path) -> None:
    chance = random.Random(0)

    @target(name="jittery", tasks=[Task("pay")])
    async def jittery(task: Task, run: Run) -> Outcome:
        del task
        bank = run.service("bank", {"pay": lambda: 1, "look": lambda: 2}, effects={"pay": effect()})
        for _ in range(8):
            try:
                await bank("look")
            except ConnectionError:
                await run.clock.sleep(chance.random())
        await bank("pay")
        return Outcome("paid", success=True)

    space = Space([Choices("service.lost_response", {})])
    result = search(plan_of(jittery, tmp_path, space=space, budget=3.3, seeds=(0,)))

    assert result.unlike
    assert "task 'pay', seed 0: under `service:bank" in result.unlike[0]
    assert not any(search.certificate.safe for search in result.searches)
    assert all("nothing is proved" in str(search.certificate) for search in result.searches)
    assert all(
        search.counterexample is None
        or search.counterexample.trace.verdict(search.contract).verdict is Verdict.VIOLATED
        for search in result.searches
    )


def test_what_a_run_leaves_behind_in_the_process_is_noticed_before_anything_is_searched(tmp_path: Path) -> None:
    cache: dict[str, int] = {}

    @target(name="caching", tasks=[Task("pay")])
    async def caching(task: Task, run: Run) -> Outcome:
        del task
        rates = run.service("rates", {"get": lambda: 2}, read_only=True)
        if "rate" not in cache:
            cache["rate"] = await rates("get")
        return Outcome(str(cache["rate"]), success=True)

    with pytest.raises(StudyError, match=r"Without any injection, .*rates.*kept between runs"):
        search(plan_of(caching, tmp_path))


def test_what_faulty_runs_leave_behind_takes_the_proof_away(tmp_path: Path) -> None:
    failures: list[str] = []

    @target(name="breaker", tasks=[Task("pay")])
    async def breaker(task: Task, run: Run) -> Outcome:
        del task
        bank = run.service("bank", {"pay": lambda: 1}, effects={"pay": effect()})
        if len(failures) > 1:
            return Outcome("the bank is left alone for a while", success=True)
        try:
            await bank("pay")
        except (ConnectionError, TimeoutError) as error:
            failures.append(str(error))
        return Outcome("done", success=True)

    result = search(plan_of(breaker, tmp_path, seeds=(0,)))

    assert result.unlike
    assert not any(search.certificate.safe or search.certificate.certified for search in result.searches)


def test_a_study_that_is_gone_on_with_remembers_what_did_not_repeat(tmp_path: Path) -> None:
    plan = plan_of(payer(undecided(1.0)), tmp_path)
    store = StudyStore.create(tmp_path, plan, "")
    store.differed(TaskSeed("pay", 1), "without injections, step 3: it rained")
    store.close()

    store = StudyStore.resume(tmp_path, plan)
    result = Study(plan, InlineExecutor(plan.workbench()), sinks=[store], earlier=store.earlier()).run()
    store.close(result.digest)

    assert result.unlike == ("task 'pay', seed 1: without injections, step 3: it rained",)
    assert {search.seed for search in result.searches} == {0, 1, 2}  # nothing of that task is proved, with any seed
    assert not any(search.certificate.safe for search in result.searches)


def test_time_that_was_spent_counts_when_a_study_is_gone_on_with(tmp_path: Path) -> None:
    plan = plan_of(payer(undecided(1.0)), tmp_path, limits=StudyLimits(seconds_max=50.0))
    store = StudyStore.create(tmp_path, plan, "")
    store.progress(StudyProgress(seconds=60.0))
    store.close()

    store = StudyStore.resume(tmp_path, plan)
    result = Study(plan, InlineExecutor(plan.workbench()), sinks=[store], earlier=store.earlier()).run()
    store.close(result.digest)

    assert result.seconds > 60.0
    assert result.trials == 0


def test_each_fresh_run_is_kept_as_soon_as_it_has_ended(tmp_path: Path) -> None:
    plan = plan_of(payer(undecided(0.9)), tmp_path, stochastic=True)
    kept: list[int] = []

    class Counting(InlineExecutor):
        def next_finished(self) -> Finished:
            kept.append(len(numbers))
            return super().next_finished()

    numbers: list[int] = []

    class Numbers(Sink):
        def drawn(self, at: TaskSeed, number: int, evaluation: Evaluation) -> None:
            del at, evaluation
            numbers.append(number)

    Study(plan, Counting(plan.workbench()), sinks=[Numbers()]).run()

    assert numbers[:16] == list(range(16))  # as many at a time as trials are in flight
    assert {1, 2, 3, 15} <= set(kept)


def test_a_study_of_a_target_with_secrets_begins_its_store_anew_when_it_is_gone_on_with(tmp_path: Path) -> None:
    plan = plan_of(replace(payer(undecided(0.5)), secrets=("s3cret",)), tmp_path)
    store = StudyStore.create(tmp_path, plan, "")
    Study(plan, InlineExecutor(plan.workbench()), sinks=[store]).run()
    store.close()
    (tmp_path / ANSWERS_NAME).unlink()

    store = StudyStore.resume(tmp_path, plan)
    second = Study(plan, InlineExecutor(plan.workbench()), sinks=[store], earlier=store.earlier()).run()
    store.close(second.digest)

    with closing(sqlite3.connect(tmp_path / "study.db")) as connection:
        rows = connection.execute(
            "SELECT task.text, seed.text, contract.text, schedule, digest FROM trial "
            "JOIN run ON execution = run.id JOIN name AS task ON task.id = trial.task "
            "JOIN name AS seed ON seed.id = trial.seed JOIN name AS contract ON contract.id = trial.contract"
        )
        total = sum(int(_hashed("\0".join(map(str, row))), 16) for row in rows) % 256**16
    assert f"{total:032x}" == second.digest


def _hashed(line: str) -> str:
    return blake2b(line.encode(), digest_size=16).hexdigest()


ASKS_AT_ONCE = """
import sys
from pathlib import Path
from chaosagent.execution.answers_on_disk import AnswersOnDisk

while not Path(sys.argv[1], "go").exists():
    pass
for turn in range(20):
    answers = AnswersOnDisk(Path(sys.argv[1], f"{turn}.db"))
    answers.keep(b"question", sys.argv[2].encode())
    assert answers.get(b"question") is not None
"""


@pytest.mark.slow
def test_workers_may_all_come_first_to_the_frozen_answers(tmp_path: Path) -> None:
    command = [sys.executable, "-c", ASKS_AT_ONCE, str(tmp_path)]
    workers = [
        subprocess.Popen([*command, str(number)], stderr=subprocess.PIPE, text=True)  # our own script
        for number in range(6)
    ]
    (tmp_path / "go").touch()

    assert [worker.communicate(timeout=120)[1] for worker in workers] == [""] * 6
