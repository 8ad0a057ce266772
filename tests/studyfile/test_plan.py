"""What a study file says becomes the plan of a study."""

import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from chaosagent.errors import UnknownNameError, UsageError
from chaosagent.execution.workers.workbench import Job
from chaosagent.faults.operator import OPERATORS
from chaosagent.faults.schedule import EMPTY
from chaosagent.studyfile import Overrides, load_study, plan_of, worker_setup
from chaosagent.vocabulary import Boundary

Write = Callable[[str], Path]
WHOLE = """
target: agent.py:agent
config: hardened
tasks: [second]
seeds: [3, 4, 3]
contracts: [default, objective, study_checks.py:says_done, {contract: no-leak, id: no-numbers, patterns: ["[0-9]+"]}]
budget: 2
cost: {c_tokens: 0.02, c_hook: 2, c_mag: 0}
operators:
  - memory.*
  - operator: service.delay
    seconds: [1, 7.5]
    interfaces: ["service:c*"]
    agents: ["plan*"]
search:
  {searcher: random, seed: 5, lookahead: 4, trials: 50, seconds: 9.5, audit: 3, error_share: 0.5,
   settings: {injections_max: 2}}
run: {steps: 10, virtual_seconds: 20, wall_seconds: 30}
"""


def test_only_the_target_is_needed(write: Write) -> None:
    plan = plan_of(load_study(write("target: agent.py:agent\n")))

    assert (plan.target.name, plan.config.name, plan.seeds, plan.budget) == ("agent", "naive", (0,), 3.0)
    assert [task.id for task in plan.tasks] == ["first", "second"]
    assert "at-most-once" in plan.contract_specs
    assert plan.contract_specs == tuple(contract.id for contract in plan.contracts)
    assert len(plan.space.choices) > 20


def test_every_key_reaches_the_plan(write: Write) -> None:
    plan = plan_of(load_study(write(WHOLE)))

    assert (plan.config.name, [task.id for task in plan.tasks], plan.seeds) == ("hardened", ["second"], (3, 4))
    assert [contract.id for contract in plan.contracts][-3:] == ["objective", "says-done", "no-numbers"]
    assert plan.contract_specs[-2] == "study_checks:says_done"
    assert (plan.budget, plan.seed, plan.lookahead, plan.audit) == (2.0, 5, 4, 3)
    assert (plan.searcher, plan.searcher_settings) == ("random", {"injections_max": 2})
    assert (plan.limits.trials_max, plan.limits.seconds_max, plan.limits.error_share_max) == (50, 9.5, 0.5)
    limits = plan.run_limits
    assert (limits.steps_max, limits.virtual_seconds_max, limits.wall_seconds_max) == (10, 20.0, 30.0)


def test_operators_are_searched_at_the_levels_and_places_of_the_file(write: Write) -> None:
    space = plan_of(load_study(write(WHOLE))).space

    there = space.at(Boundary.SERVICE, "service:crm", "planner")
    assert [getattr(priced.operator, "seconds", None) for priced in there] == [1.0, 7.5]
    assert [priced.cost for priced in there] == [2.0, 2.0]
    assert space.at(Boundary.SERVICE, "service:crm", "verifier") == ()
    assert space.at(Boundary.SERVICE, "service:orders", "planner") == ()
    assert {priced.operator.name for priced in space.at(Boundary.MEMORY, "memory:notes", "")} == {
        name for name in OPERATORS if name.startswith("memory.")
    }


def test_options_take_the_place_of_keys(write: Write) -> None:
    options = Overrides(config="naive", tasks=("first",), seeds=(7,), contracts=("no-crash",), budget=0.5, trials=2)

    study = load_study(write(WHOLE), options)
    plan = plan_of(study)

    assert (plan.config.name, plan.tasks[0].id, plan.seeds, plan.budget) == ("naive", "first", (7,), 0.5)
    assert (plan.limits.trials_max, plan.lookahead, plan.contract_specs) == (2, 4, ("no-crash",))
    assert "--budget" in study.text_as_run
    as_run = write(study.text_as_run)
    assert plan_of(load_study(as_run)).digest == plan.digest


def test_a_file_without_options_is_kept_letter_by_letter(write: Write) -> None:
    assert load_study(write(WHOLE)).text_as_run == WHOLE


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (Overrides(config="nobody"), "--config: unknown configuration"),
        (Overrides(tasks=("nothing",)), "--task: unknown task"),
        (Overrides(contracts=("nothing",)), "--contract: unknown contract"),
    ],
)
def test_a_mistake_in_an_option_names_the_option(write: Write, options: Overrides, complaint: str) -> None:
    with pytest.raises(UnknownNameError, match=complaint):
        plan_of(load_study(write("target: agent.py:agent\n"), options))


def test_a_worker_makes_the_same_workbench_from_plain_data(write: Write) -> None:
    study = load_study(write(WHOLE))
    plan = plan_of(study)

    bench = pickle.loads(pickle.dumps(worker_setup(study, plan)))()

    evaluation = bench.evaluate(Job("second", 3, EMPTY))
    assert evaluation.error == ""
    assert [verdict.contract for verdict in evaluation.verdicts] == [contract.id for contract in plan.contracts]
    assert bench.limits == plan.run_limits


def test_a_target_file_is_named_from_where_people_work(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write("target: agent.py:agent\n")

    monkeypatch.chdir(path.parent.parent)
    below = plan_of(load_study(path)).target_reference
    monkeypatch.chdir("/")
    other = plan_of(load_study(path)).target_reference

    assert below == f"{path.parent.name}/agent.py:agent"
    assert other == f"{path.parent.relative_to('/')}/agent.py:agent"


def test_a_study_file_called_study_has_the_name_of_its_folder(write: Write) -> None:
    path = write("target: agent.py:agent\n")

    assert load_study(path).name == path.parent.name
    assert load_study(path.rename(path.with_name("mine.yaml"))).name == "mine"


def test_how_many_are_wanted_reaches_the_plan(write: Write) -> None:
    one = plan_of(load_study(write("target: agent.py:agent\n")))
    every = plan_of(load_study(write("target: agent.py:agent\nsearch: {all_minimal: true}\n")))
    some = plan_of(load_study(write("target: agent.py:agent\nsearch: {signatures: 4}\n")))

    assert (one.wants_several, every.wants_several, some.wants_several) == (False, True, True)
    assert (every.all_minimal, every.signatures) == (True, None)
    assert (some.all_minimal, some.signatures) == (False, 4)
    assert len({one.digest, every.digest, some.digest}) == 3


@pytest.mark.parametrize(
    ("search", "options", "wanted"),
    [
        ("{signatures: 4}", Overrides(all_minimal=True), (True, None)),
        ("{all_minimal: true}", Overrides(signatures=2), (False, 2)),
        ("{signatures: 4}", Overrides(signatures=2), (False, 2)),
        ("{trials: 9}", Overrides(signatures=2), (False, 2)),
    ],
)
def test_the_option_for_the_one_takes_the_place_of_the_key_for_the_other(
    write: Write, search: str, options: Overrides, wanted: tuple[bool, int | None]
) -> None:
    study = load_study(write(f"target: agent.py:agent\nsearch: {search}\n"), options)

    assert (study.settings.search.all_minimal, study.settings.search.signatures) == wanted
    assert load_study(write(study.text_as_run)).settings == study.settings


def test_all_and_a_number_of_them_in_one_file_are_refused(write: Write) -> None:
    path = write("target: agent.py:agent\nsearch:\n  all_minimal: true\n  signatures: 3\n")

    with pytest.raises(UsageError, match=r"study\.yaml:3 and .*study\.yaml:4: search\.all_minimal is true and .* is 3"):
        load_study(path)
