"""Answers that are failed calls: they commit nothing, and nothing else about a run changes; idempotent effects."""

# ruff: noqa: ARG005  # what stands behind a door takes arguments by name

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from chaosagent.canonical import Plain
from chaosagent.contracts.pattern import answered, step_pattern
from chaosagent.effects.rule import EffectRule, effect
from chaosagent.errors import TargetError
from chaosagent.execution.exact_replay import serve
from chaosagent.execution.execute import Execution, Experiment, execute
from chaosagent.faults.evaluation import Fingerprinting
from chaosagent.faults.schedule import EMPTY, parse
from chaosagent.replays.sections import read_step, write_step
from chaosagent.replays.typed import Section
from chaosagent.targets.target import Run, Target, target
from chaosagent.trace.own_attributes import step_attributes
from chaosagent.trace.own_reading import read_step as read_span
from chaosagent.trace.step import Step
from chaosagent.trace.summary import FailureMet
from chaosagent.vocabulary import Effect, Impact, Outcome, Task

Play = Callable[..., Execution]
ERROR = "Error: the shop is closed"


def paying(answers: list[Any], effects: EffectRule | None = None, **options: Any) -> Callable[[Any], Any]:
    """Return what pays order 7 once for each answer that the shop will give."""

    async def pays(run: Any) -> Outcome:
        left = list(answers)
        rules = {"pay": effect("order") if effects is None else effects}
        shop = run.service("shop", {"pay": lambda order: left.pop(0) if left else "again"}, effects=rules, **options)
        return Outcome(state=[await shop("pay", order=7) for _ in answers])

    return pays


def test_a_soft_error_commits_nothing_and_is_an_error_that_the_agent_saw(play: Play) -> None:
    found = play(paying([ERROR, "paid"], failed_when="^Error"))

    first, second = found.trace.steps
    assert found.trace.outcome.state == [ERROR, "paid"]
    assert (first.effects, second.effects) == ((), (Effect("shop.pay", {"order": 7}),))
    assert (first.soft_error, first.failure, first.answer) == ("it matches '^Error'", None, ERROR)
    assert (first.has_failed, second.has_failed) == (True, False)
    assert found.evaluation.summary is not None
    assert found.evaluation.summary.failures == (FailureMet("service:shop pay", "soft error", True),)


def test_without_a_rule_the_same_answer_is_a_commit(play: Play) -> None:
    assert len(play(paying([ERROR, "paid"])).trace.effects) == 2


def test_nothing_but_effects_and_errors_changes(play: Play) -> None:
    plain, ruled = play(paying([ERROR, "paid"])), play(paying([ERROR, "paid"], failed_when="^Error"))

    for one, other in zip(plain.trace.steps, ruled.trace.steps, strict=True):
        assert (one.request, one.response, one.arrived_at) == (other.request, other.response, other.arrived_at)
    assert plain.trace.outcome == ruled.trace.outcome


def test_a_rule_that_matches_nothing_leaves_the_digest_as_it_was(play: Play) -> None:
    plain = play(paying(["paid"])).trace.digest

    assert play(paying(["paid"], failed_when={"pay": "^Error"})).trace.digest == plain
    assert play(paying(["paid"], effects=effect("order", idempotent=True))).trace.digest == plain
    assert play(paying(["paid"], effects=effect("order", when="paid"))).trace.digest == plain


@pytest.mark.parametrize(
    ("rule", "answer"),
    [
        ({"json": "status", "is": "error"}, {"status": "error"}),
        ({"exit_code": "nonzero"}, {"exit_code": 2}),
        (lambda arguments, answer: answer == arguments["order"], 7),
        (["^Oops", "^Error"], ERROR),
    ],
)
def test_every_form_holds_at_a_door(play: Play, rule: Any, answer: Any) -> None:
    assert play(paying([answer], failed_when={"*": rule})).trace.effects == ()
    assert play(paying([answer], failed_when={"pay": rule})).trace.effects == ()


def test_what_an_injection_repeats_is_judged_by_the_answer_to_each_call(play: Play) -> None:
    found = play(paying(["paid"], failed_when="^again"), "service:shop[1] service.duplicate_delivery")

    assert len(found.trace.effects) == 1


def test_a_lost_answer_is_judged_by_what_the_world_answered(play: Play) -> None:
    async def pays(run: Any) -> Outcome:
        shop = run.service("shop", {"pay": lambda order: ERROR}, effects={"pay": effect("order")}, failed_when="^Err")
        try:
            await shop("pay", order=7)
        except ConnectionError:
            return Outcome("lost")
        return Outcome("told")

    found = play(pays, "service:shop[1] service.lost_response(when=after)")

    assert (found.trace.outcome.message, found.trace.effects) == ("lost", ())
    assert (found.trace.steps[0].soft_error, found.trace.steps[0].has_failed) == ("", True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"failed_when": "("}, "failed_when of service:shop: the pattern"),
        ({"failed_when": {"pya": "^Error"}}, "Did you mean 'pay'"),
        ({"failed_when": {"json": "status", "is": "error"}}, "one condition for all is"),
        ({"failed_when": lambda arguments, answer: None}, "returned None; return True"),
        ({"failed_when": lambda arguments, answer: 1 / 0}, "failed_when of service:shop, pay"),
        ({"effects": "eff.py:book"}, "declares 'eff.py:book' as effects of 'pay'. Write chaosagent.effect"),
    ],
)
def test_a_mistake_in_a_declaration_is_no_answer_of_the_world(play: Play, options: Any, message: str) -> None:
    with pytest.raises(TargetError, match=message):
        play(paying(["paid"], **options))


def test_an_option_that_is_misspelt_is_named_with_the_nearest(play: Play) -> None:
    assert "no option 'fail_when'. Did you mean 'failed_when'?" in play(paying([1], fail_when="x")).trace.ending_detail


def test_contracts_that_wait_for_an_answer_take_a_soft_error_for_none(play: Play) -> None:
    first, second = play(paying([ERROR, "paid"], failed_when="^Error")).trace.steps
    is_answered = answered(step_pattern(("shop.pay",)))

    assert (is_answered(first), is_answered(second)) == (False, True)


def test_a_soft_error_survives_records_and_spans(play: Play) -> None:
    step = play(paying([ERROR], failed_when="^Error")).trace.steps[0]

    assert read_step(Section(write_step(step), "step"), 0) == step
    assert read_span(step_attributes(step), "here") == step


def _target(options: Mapping[str, Any], answers: list[Plain]) -> Target:
    @target(name="shop", tasks=[Task("t")])
    async def shop(_: Task, run: Run) -> Outcome:
        outcome: Outcome = await paying(answers, **options)(run)
        return outcome

    return shop


def experiment_of(system: Target) -> Experiment:
    return Experiment(system, system.task("t"), system.config("default"), 0, ())


def test_an_exact_replay_gives_the_same_trace() -> None:
    experiment = experiment_of(_target({"failed_when": "^Error"}, [ERROR, "paid"]))
    trace = execute(experiment, EMPTY).trace

    replayed = serve(experiment, trace, EMPTY)

    assert replayed.difference is None
    assert replayed.execution.trace.digest == trace.digest


def test_secrets_do_not_get_into_the_reason() -> None:
    hidden = replace(_target({"failed_when": {"pay": {"json": "error"}}}, [{"error": "hunter2"}]), secrets=("hunter2",))

    trace = execute(experiment_of(hidden), EMPTY).trace

    assert trace.steps[0].soft_error
    assert "hunter2" not in trace.steps[0].soft_error


# ------------------------------------------------------------------ idempotent effects


def counts(found: Execution) -> list[int]:
    return [len(step.effects) for step in found.trace.steps]


def test_writing_the_same_again_is_no_second_effect(play: Play) -> None:
    labelled = effect("order", idempotent=True)

    assert counts(play(paying(["a", "b", "c"], effects=labelled))) == [1, 0, 0]
    assert counts(play(paying(["a", "b"], effects=effect("order")))) == [1, 1]


def test_a_duplicate_of_an_idempotent_write_is_no_second_effect(play: Play) -> None:
    schedule = "service:shop[1] service.duplicate_delivery"

    assert counts(play(paying(["a"], effects=effect("order", idempotent=True)), schedule)) == [1]
    assert counts(play(paying(["a"]), schedule)) == [2]


def test_effects_of_a_function_can_be_labelled_too(play: Play) -> None:
    def paid(arguments: Mapping[str, Plain], answer: Plain) -> Effect | None:
        return Effect("paid", {"order": arguments["order"]}) if answer == "ok" else None

    assert counts(play(paying(["no", "ok", "ok"], effects=effect(function=paid, idempotent=True)))) == [0, 1, 0]


def test_a_failed_write_is_not_remembered(play: Play) -> None:
    labelled = effect("order", idempotent=True)

    assert counts(play(paying([ERROR, "ok", "ok"], effects=labelled, failed_when="^Error"))) == [0, 1, 0]


def test_a_write_after_something_was_undone_counts_again(play: Play) -> None:
    async def pays(run: Any) -> Outcome:
        rules = {"pay": effect("order", idempotent=True), "undo": effect("order", impact=Impact.COMPENSATING)}
        shop = run.service("shop", {"pay": lambda order: 1, "undo": lambda order: 1}, effects=rules)
        for operation in ("pay", "pay", "undo", "pay"):
            await shop(operation, order=7)
        return Outcome()

    assert counts(play(pays)) == [1, 0, 1, 1]


@pytest.mark.parametrize("idempotent", [True, False])
def test_runs_that_have_written_different_things_do_not_merge(*, idempotent: bool) -> None:
    @target(name="shop", tasks=[Task("t")])
    async def shop(_: Task, run: Run) -> Outcome:
        rules = {"pay": effect("order", idempotent=idempotent)}
        door = run.service("shop", {"pay": lambda order: 1, "look": lambda: 1}, effects=rules, read_only=["look"])
        try:
            await door("look")
        except ConnectionError:
            await door("pay", order=7)
        else:
            await door("pay", order=8)
        run.checkpoint("rest", {})
        return Outcome()

    schedules = EMPTY, parse("service:shop[1] service.lost_response(when=after)")
    runs = [execute(experiment_of(shop), one, fingerprinting=Fingerprinting.STATE) for one in schedules]

    first, second = (run.evaluation.fingerprints[-1].common for run in runs)
    assert (first != second) is idempotent


def test_a_step_says_that_it_has_failed() -> None:
    step = Step()
    step.failure, step.soft_error = None, ""
    assert not step.has_failed
