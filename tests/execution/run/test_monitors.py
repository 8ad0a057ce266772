"""Monitors in a run: fed every step with raw values, final once violated, never the target's fault."""

from collections.abc import Callable
from typing import Any

import pytest

from chaosagent.canonical import Plain
from chaosagent.contracts.contract import HOLDS, Contract, End, Looks, Reading, Setting, violated
from chaosagent.effects.rule import effect
from chaosagent.errors import PluginError
from chaosagent.execution.execute import Execution
from chaosagent.trace.step import Step
from chaosagent.trace.trace import Violation
from chaosagent.vocabulary import Ending, Outcome, Severity, Verdict

Play = Callable[..., Execution]


class Seen:
    """A contract and its own monitor: breaks at the answers that it is told to break at."""

    severity, weight = Severity.HARD, 1.0

    def __init__(self, id: str = "seen", *, breaks_at: Plain = None, requires: Contract | None = None) -> None:  # noqa: A002
        self.id, self.requires, self._breaks_at = id, requires, breaks_at
        self.steps: list[tuple[str, Plain, Plain]] = []
        self.ends: list[End] = []

    def monitor(self, _: Setting) -> "Seen":
        self.steps.clear()
        self.ends.clear()
        return self

    def step(self, step: Step) -> Reading | None:
        self.steps.append((step.operation, step.arguments, step.answer))
        return violated(f"saw {step.answer!r}") if step.answer == self._breaks_at is not None else None

    def end(self, end: End) -> Reading:
        self.ends.append(end)
        return violated("at the end") if self._breaks_at == "end" else HOLDS

    def state(self) -> Plain:
        return len(self.steps)


class Failing(Seen):
    """A contract with a mistake."""

    def __init__(self, where: str) -> None:
        super().__init__("failing")
        self._where = where

    def monitor(self, setting: Setting) -> Seen:
        self._fail("monitor")
        return super().monitor(setting)

    def step(self, step: Step) -> Reading | None:
        self._fail("step")
        return super().step(step)

    def end(self, end: End) -> Reading:
        self._fail("end")
        return super().end(end)

    def _fail(self, where: str) -> None:
        if where == self._where:
            raise ZeroDivisionError(f"in {where}")


async def agent(run: Any) -> Outcome:
    crm = run.service("crm", {"get": lambda number: number})
    for number in (1, 2, 3):
        with run.agent(f"agent-{number}"):
            await crm("get", number=number)
    run.note("done", all=True)
    return Outcome("done")


def test_a_monitor_sees_every_step_and_the_end(play: Play) -> None:
    contract = Seen()
    found = play(agent, experiment={"contracts": (contract,)})

    assert contract.steps == [
        ("get", {"number": 1}, 1),
        ("get", {"number": 2}, 2),
        ("get", {"number": 3}, 3),
        ("done", {"all": True}, None),
    ]
    assert contract.ends == [End(Ending.FINISHED, "", Outcome("done"), 4)]
    assert found.trace.verdicts[0].verdict is Verdict.HOLDS


def test_a_violation_names_step_agent_and_reason_and_is_final(play: Play) -> None:
    contract = Seen(breaks_at=2)
    found = play(agent, experiment={"contracts": (contract,)})

    verdict = found.trace.verdict("seen")
    assert (verdict.verdict, verdict.margin) == (Verdict.VIOLATED, -1.0)
    assert verdict.violation == Violation(1, "agent-2", "saw 2")
    assert len(contract.steps) == 2
    assert contract.ends == []


def test_a_violation_that_only_the_end_shows_stands_behind_the_last_step(play: Play) -> None:
    found = play(agent, experiment={"contracts": (Seen(breaks_at="end"),)})

    assert found.trace.verdicts[0].violation == Violation(4, "agent-3", "at the end")


def test_contracts_do_not_disturb_each_other_and_keep_their_order(play: Play) -> None:
    contracts = (Seen("a", breaks_at=3), Seen("b"), Seen("c", breaks_at=1))
    found = play(agent, experiment={"contracts": contracts})

    assert [(verdict.contract, verdict.verdict) for verdict in found.evaluation.verdicts] == [
        ("a", Verdict.VIOLATED),
        ("b", Verdict.HOLDS),
        ("c", Verdict.VIOLATED),
    ]
    assert len(contracts[1].steps) == 4


@pytest.mark.parametrize(
    ("looks", "seen"), [(Looks.EVERY_STEP, ["get", "pay", "done"]), (Looks.EFFECTS, ["pay"]), (Looks.NEVER, [])]
)
def test_a_monitor_is_asked_about_the_steps_that_it_looks_at(play: Play, looks: Looks, seen: list[str]) -> None:
    async def pays(run: Any) -> str:
        bank = run.service("bank", {"get": lambda: 1, "pay": lambda: 2}, effects={"pay": effect()})
        await bank("get")
        await bank("pay")
        run.note("done")
        return "done"

    contract = Seen()
    contract.looks = looks  # type: ignore[attr-defined]  # an optional attribute of monitors
    found = play(pays, experiment={"contracts": (contract,)})

    assert [operation for operation, *_ in contract.steps] == seen
    assert len(contract.ends) == 1
    assert [step.answer for step in found.trace.steps] == [1, 2, None]


@pytest.mark.parametrize(("required", "unfair"), [(None, False), ("never", False), (1, True), ("end", True)])
def test_a_violation_is_unfair_when_what_it_requires_was_not_given(play: Play, required: Plain, unfair: bool) -> None:
    requires = None if required is None else Seen("required", breaks_at=required)
    found = play(agent, experiment={"contracts": (Seen(breaks_at=2, requires=requires),)})

    (verdict,) = found.trace.verdicts
    assert verdict.verdict is Verdict.VIOLATED
    assert verdict.unfair is unfair


def test_a_contract_that_holds_is_never_unfair(play: Play) -> None:
    found = play(agent, experiment={"contracts": (Seen(requires=Seen("required", breaks_at=1)),)})

    assert found.trace.verdicts[0].verdict is Verdict.HOLDS
    assert not found.trace.verdicts[0].unfair


@pytest.mark.parametrize("where", ["monitor", "step", "end"])
def test_a_mistake_of_a_contract_is_no_behaviour_of_the_target(play: Play, where: str) -> None:
    async def swallows(run: Any) -> str:
        try:
            await agent(run)
        except BaseException:
            return "swallowed"
        return "done"

    for target in (agent, swallows):
        with pytest.raises(PluginError, match=f"contract 'failing' raised ZeroDivisionError: in {where}"):
            play(target, experiment={"contracts": (Failing(where),)})


def test_an_unknown_contract_has_no_verdict(play: Play) -> None:
    found = play(agent)

    with pytest.raises(KeyError, match="seen"):
        found.trace.verdict("seen")
    assert found.evaluation.verdict("seen") is None
