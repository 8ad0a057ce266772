"""A run with a policy is the run of the schedule that the policy chose, and what is known of runs foretells it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaosagent.contracts.templates.defaults import default_contracts
from chaosagent.execution.execute import Experiment, execute
from chaosagent.execution.play import play
from chaosagent.execution.workers.workbench import Answering, Job, Workbench
from chaosagent.faults.evaluation import Evaluation, Fingerprinting, Status
from chaosagent.faults.foresight import Foresight
from chaosagent.faults.observer import observations_of
from chaosagent.faults.online import Policy, Scores, plain_choices
from chaosagent.faults.schedule import EMPTY, parse
from chaosagent.faults.space import Choices, Space
from chaosagent.targets.target import Run, target
from chaosagent.vocabulary import Effect, Outcome, Task
from tests.lab.targets.programs import target_of
from tests.lab.targets.random_programs import random_program

SPACE = Space()
DEPTH = Fingerprinting.STATE_AND_HISTORY
THRESHOLDS = (-10.0, 0.3, 0.6, 0.9)


def policy(number: int, **changes: object) -> Policy:
    threshold = THRESHOLDS[number % len(THRESHOLDS)]
    made = Policy(f"policy {number}", 5, plain_choices(SPACE), SPACE.model, budget=4.0, threshold=threshold)
    return replace(made, **changes)  # type: ignore[arg-type]  # fields by name


def experiment_of(seed: int) -> Experiment:
    system = target_of(random_program(seed, statements_max=5))
    task, config = next(iter(system.tasks.values())), next(iter(system.configs.values()))
    return Experiment(system, task, config, 0, default_contracts()).with_nominal()


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 1_000))
def test_the_run_of_a_policy_is_the_run_of_what_it_chose(program: int, number: int) -> None:
    experiment = experiment_of(program)

    played = play(experiment, policy(number), fingerprinting=DEPTH)

    again = execute(experiment, played.evaluation.schedule, fingerprinting=DEPTH)
    assert again.evaluation == played.evaluation
    assert again.trace.digest == played.trace.digest


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_what_is_foretold_comes_true_and_what_is_known_is_foretold(program: int) -> None:
    experiment, foresight, known = experiment_of(program), Foresight(), {}

    for number in range(25):
        made = policy(number, name=str(number % 20))
        foretold = foresight.of(Scores(made, 0))
        told = play(experiment, made).evaluation
        assert foretold == (told if told.schedule in known else None)
        known[told.schedule] = told
        foresight.add(told)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 1_000))
def test_what_a_policy_saw_can_be_worked_out_from_the_run(program: int, number: int) -> None:
    experiment, made = experiment_of(program), policy(number)
    told = play(experiment, made).evaluation
    foresight = Foresight()
    foresight.add(told)

    assert {chosen for _, chosen in observations_of(told) if chosen is not None} == set(told.schedule)
    assert foresight.of(Scores(made, 0)) == told


def test_runs_that_no_policy_makes_foretell_nothing() -> None:
    experiment, foresight = experiment_of(3), Foresight()
    quiet = policy(0, threshold=99.0)
    place = str(execute(experiment, EMPTY).evaluation.crossings[0].place)

    foresight.add(execute(experiment, parse("service:nobody[1] delay")).evaluation)  # not reached
    foresight.add(execute(experiment, parse(f"{place.partition('[')[0]}[*] delay")).evaluation)  # everywhere
    foresight.add(Evaluation(EMPTY, Status.ERROR, "killed"))

    assert foresight.of(Scores(quiet, 0)) is None
    foresight.add(execute(experiment, EMPTY).evaluation)
    assert foresight.of(Scores(quiet, 0)) == execute(experiment, EMPTY).evaluation


DRAWN: list[int] = []


@target(name="drawing", tasks=[Task("only")])
async def drawing(task: Task, run: Run) -> Outcome:
    """Asks a model, whose answers come by chance, and a service."""
    del task

    def complete(prompt: str) -> object:
        DRAWN.append(len(DRAWN))
        return {"content": f"{prompt} {DRAWN[-1]}", "tool_calls": []}

    model = run.model("llm", {"complete": complete})
    crm = run.service("crm", {"get": lambda order: {"order": order}})
    for number in range(3):
        answer = await model("complete", prompt=f"question {number}")
        try:
            await crm("get", order=answer["content"])
        except (TimeoutError, ConnectionError):
            continue
    return Outcome("done")


def test_frozen_answers_serve_policies_as_they_serve_schedules() -> None:
    bench = Workbench(drawing, next(iter(drawing.configs.values())), default_contracts())
    space = Space([Choices("service.timeout", {}), Choices("service.lost_response", {})])
    made = Policy("one", 5, plain_choices(space), space.model, budget=3.0, threshold=-10.0)

    played = bench.execute(Job("only", 0, EMPTY, answering=Answering.FROZEN, policy=made))
    again = bench.execute(Job("only", 0, played.evaluation.schedule, answering=Answering.FROZEN))

    assert len(played.evaluation.schedule) >= 1
    assert again == played


@target(name="touchy", tasks=[Task("only")])
async def touchy(task: Task, run: Run) -> Outcome:
    """Commits, once it has seen two failures, what its declaration of effects does not expect."""
    del task
    got = {"get": lambda asked, _: Effect("get", {"order": asked["order"] + 0})}
    crm, failures = run.service("crm", {"get": lambda order: {"order": order}}, effects=got), 0
    for number in range(5):
        try:
            await crm("get", order="two" if failures > 1 else number)
        except (TimeoutError, ConnectionError):
            failures += 1
    return Outcome("done")


def test_an_error_tells_what_was_chosen_before_it() -> None:
    timeouts = Space([Choices("service.timeout", {})])
    made = Policy("one", 5, plain_choices(timeouts), timeouts.model, budget=9.0, threshold=-10.0)
    bench = Workbench(touchy, next(iter(touchy.configs.values())), default_contracts())

    told = bench.evaluate(Job("only", 0, EMPTY, policy=made))

    assert told.status is Status.ERROR
    assert "effects of service:crm, get: TypeError" in told.error
    assert [injection.hook.first for injection in told.schedule] == [1, 2, 3]
    assert bench.evaluate(Job("only", 0, told.schedule)) == told
