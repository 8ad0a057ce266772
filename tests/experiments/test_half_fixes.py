"""Half-fixes of the triage desk and of a desk of the OpenAI Agents SDK, which only `replay --around` exposes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import Any

import pytest

from chaosagent.contracts.catalogue import default_contracts
from chaosagent.contracts.contract import Nominal
from chaosagent.execution.execute import Experiment, execute
from chaosagent.experiments.triage import writes
from chaosagent.experiments.triage.clients import TRANSIENT, answer_of, pause, repeatable
from chaosagent.faults.schedule import EMPTY, parse
from chaosagent.replays.outcome import NEIGHBOURS, ReplayOutcome, RunsMax
from chaosagent.replays.record import Named, ReplayRecord, record_of_run
from chaosagent.replays.rerun import rerun_schedule
from chaosagent.targets.loading import load_target
from chaosagent.vocabulary import Verdict

CONTRACT = "at-most-once"
RESET = "connection reset by peer"


def record_of(reference: str, task: str, schedule: str) -> ReplayRecord:
    """Return the record of a run of the naive configuration that pays twice."""
    target, contracts = load_target(reference), default_contracts()
    bare = Experiment(target, target.task(task), target.config("naive"), 0, contracts)
    undisturbed = execute(bare, EMPTY)
    nominal = Nominal(undisturbed.trace.effects, undisturbed.trace.outcome)
    parsed = parse(schedule)
    trace = execute(replace(bare, nominal=nominal), parsed).trace
    assert trace.verdict(CONTRACT).verdict is Verdict.VIOLATED
    contract = next(one for one in contracts if one.id == CONTRACT)
    named = Named(reference, tuple(one.id for one in contracts))
    return record_of_run(replace(bare, nominal=nominal), undisturbed, trace, parsed, contract=contract, named=named)


def outcomes(record: ReplayRecord, config: str | None = None) -> tuple[ReplayOutcome, ReplayOutcome]:
    """Return what replay says without and with neighbours."""
    target = load_target(record.target_reference)
    plain = rerun_schedule(record, target, config_name=config)
    around = rerun_schedule(record, target, config_name=config, runs_max=RunsMax(neighbours=NEIGHBOURS))
    return plain.outcome, around.outcome


Stops = Callable[[Exception], bool]
GUARDS: dict[str, Stops] = {
    "one type of error": lambda error: isinstance(error, ConnectionError),
    "the exact wording": lambda error: str(error) == RESET,
}


# ---------------------------------------------------------------------- triage

NO_KEY = "service:tokens[1]@action service.lost_response(when=before)"


async def guarded(ask: Any, clock: Any, *, stops: Stops, attempts_max: int = 2) -> Any:
    """Repeat a write, as the client of triage does, but not after what stops it."""
    for number in range(1, attempts_max):
        try:
            return await ask.attempt()
        except TRANSIENT as error:
            if stops(error) or not repeatable(error):
                raise
            await clock.sleep(pause(error, number))
    return await ask.attempt()


@pytest.fixture
def lost() -> ReplayRecord:
    """A refund without a key is sent again, as its answer was lost."""
    return record_of(
        "triage", "refund-damaged", f"{NO_KEY}; service:payments[1]@action service.lost_response(when=after)"
    )


@pytest.mark.parametrize("guard", GUARDS)
def test_triage_with_a_guard_on(guard: str, lost: ReplayRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writes, "answer_of", partial(guarded, stops=GUARDS[guard]))

    assert outcomes(lost) == (ReplayOutcome.HELD, ReplayOutcome.DODGED)


def test_triage_with_a_guard_on_the_exact_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writes, "answer_of", partial(answer_of, seconds_max=30.0))
    late = record_of("triage", "refund-damaged", f"{NO_KEY}; service:payments[1]@action service.delay(seconds=60.0)")
    monkeypatch.setattr(writes, "answer_of", partial(answer_of, seconds_max=61.0))

    assert outcomes(late) == (ReplayOutcome.HELD, ReplayOutcome.DODGED)


def test_triage_with_a_true_fix_holds_around_the_faults_too(lost: ReplayRecord) -> None:
    assert outcomes(lost, "hardened") == (ReplayOutcome.HELD, ReplayOutcome.HELD)


# ---------------------------------------------------------------------- OpenAI Agents SDK

DESK = "chaosagent.experiments.openai_agents.target:desk"
needs_sdk = pytest.mark.skipif(find_spec("agents") is None, reason="needs agents")


class Tools:
    """Replaces how the desk makes tools of its functions that write."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def made_with(self, **options: Any) -> None:
        """Give options of the SDK to `refund`."""
        from agents import function_tool

        from chaosagent.experiments.openai_agents import desk, shop

        def writing(function: Any, *, fixed: bool) -> Any:
            del fixed
            return function_tool(function, **options) if function is shop.refund else function_tool(function)

        self._monkeypatch.setattr(desk, "_writing", writing)
        desk.front_desk.cache_clear()


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The tools of the desk; afterwards they are as they were."""
    yield Tools(monkeypatch)
    monkeypatch.undo()
    from chaosagent.experiments.openai_agents import desk

    desk.front_desk.cache_clear()


def again(_: Any, error: Exception) -> str:
    """Say what the SDK says by default."""
    return f"An error occurred while running the tool. Please try again. Error: {error}"


def unsure_where(stops: Stops) -> Callable[[Any, Exception], str]:
    """Say of some errors that the books have to be looked into first."""
    return lambda context, error: "it may have been done all the same" if stops(error) else again(context, error)


@needs_sdk
@pytest.mark.openai_agents
@pytest.mark.parametrize("guard", GUARDS)
def test_the_sdk_with_a_guard_on(guard: str, tools: Tools) -> None:
    lost = record_of(DESK, "late-parcel", "service:refund[1]@billing service.lost_response(when=after)")
    tools.made_with(failure_error_function=unsure_where(GUARDS[guard]))

    assert outcomes(lost) == (ReplayOutcome.HELD, ReplayOutcome.DODGED)


@needs_sdk
@pytest.mark.openai_agents
def test_the_sdk_with_a_guard_on_the_exact_delay(tools: Tools) -> None:
    tools.made_with(timeout=30.0, timeout_error_function=again)
    late = record_of(DESK, "late-parcel", "service:refund[1]@billing service.delay(seconds=60.0)")
    tools.made_with(timeout=61.0, timeout_error_function=again)

    assert outcomes(late) == (ReplayOutcome.HELD, ReplayOutcome.DODGED)


@needs_sdk
@pytest.mark.openai_agents
def test_the_sdk_with_a_true_fix_holds_around_the_faults_too() -> None:
    lost = record_of(DESK, "late-parcel", "service:refund[1]@billing service.lost_response(when=after)")

    assert outcomes(lost, "fixed") == (ReplayOutcome.HELD, ReplayOutcome.HELD)
