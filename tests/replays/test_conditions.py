"""The conditions of HELD, one by one, beyond the attacks and the ordinary fixes."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from chaosagent.canonical import Plain
from chaosagent.contracts.custom import contract
from chaosagent.replays import review
from chaosagent.replays.outcome import Replay, ReplayOutcome
from chaosagent.replays.record import FORMAT_VERSION, ReplayRecord
from chaosagent.replays.rerun import rerun_schedule
from chaosagent.replays.today import NominalRuns
from chaosagent.targets.target import Run
from chaosagent.trace.step import Step
from chaosagent.vocabulary import Effect, Impact
from tests.lab.edits.trials import trial
from tests.replays.desk import LOST, Desk, committed, desk, record_of

Behaviour = Callable[[Run], Awaitable[object]]
ONLY = ("at-most-once",)
SPECS = ("at-most-once", "no-crash")


async def retries(run: Run) -> str:
    world = Desk(run)
    for _ in range(3):
        with contextlib.suppress(ConnectionError):
            await world.payments("pay", order=7)
            return "paid"
        await run.clock.sleep(1.0)
    return "unclear"


async def crashes(run: Run) -> str:
    await Desk(run).payments("pay", order=7)
    return "paid"


async def pays_once(run: Run) -> str:
    with contextlib.suppress(ConnectionError):
        await Desk(run).payments("pay", order=7)
    return "unclear"


def replayed(record: ReplayRecord, behaviour: Behaviour) -> Replay:
    return rerun_schedule(record, desk(behaviour))


def test_a_new_crash_that_no_contract_forbids_has_moved() -> None:
    record = record_of(retries, LOST, specs=ONLY)

    replay = replayed(record, crashes)

    assert replay.outcome is ReplayOutcome.MOVED
    assert replay.detail.startswith("the run ends with crashed: ConnectionError: connection reset by peer (at ")
    assert replay.detail.endswith("which no contract forbids; mend that, or search again")
    assert replayed(record, pays_once).outcome is ReplayOutcome.HELD


def test_a_target_that_crashes_without_faults_is_violated_or_to_be_reviewed() -> None:
    async def broken(run: Run) -> str:
        await pays_once(run)
        raise RuntimeError("boom")

    forbidden, allowed = (replayed(record_of(retries, LOST, specs=specs), broken) for specs in (SPECS, ONLY))

    assert forbidden.outcome is ReplayOutcome.VIOLATED
    assert "no-crash violated at the end, without the faults of the record: RuntimeError: boom" in forbidden.detail
    assert allowed.outcome is ReplayOutcome.CHANGED
    assert "today's run without faults ends with crashed: RuntimeError: boom" in allowed.detail


def noted(arguments: Mapping[str, Plain], answer: Plain) -> list[Effect]:
    payment = committed(arguments, answer)
    log = Effect("log", {"order": arguments["order"]}, Impact.HARMLESS)
    return [log] if payment is None else [payment, log]


def lowered(arguments: Mapping[str, Plain], answer: Plain) -> Effect | None:
    payment = committed(arguments, answer)
    return None if payment is None else payment._replace(impact=Impact.HARMLESS)


@pytest.mark.parametrize(
    ("rule", "outcome", "text"),
    [
        (noted, ReplayOutcome.HELD, "today's run without faults commits log(order=7), too"),
        (lowered, ReplayOutcome.CHANGED, "today's run without faults no longer commits payment(order=7)"),
    ],
)
def test_more_harmless_effects_are_a_note_and_a_lower_impact_is_a_change(
    rule: Callable[..., object], outcome: ReplayOutcome, text: str
) -> None:
    async def edited(run: Run) -> str:
        with contextlib.suppress(ConnectionError):
            await Desk(run, effects={"pay": rule}).payments("pay", order=7)  # type: ignore[dict-item]  # a rule it is
        return "unclear"

    replay = replayed(record_of(retries, LOST, declared=False), edited)

    assert replay.outcome is outcome
    assert text in " ".join([replay.detail, *replay.notes])


def test_a_door_that_only_a_fault_opens_may_be_gone() -> None:
    async def pays_elsewhere(run: Run) -> str:
        world = Desk(run)
        try:
            await world.orders("get", order=7)
        except ConnectionError:
            doors = run.service("till", {"pay": world.payments_pay}, effects={"pay": committed})
            for _ in range(2):
                with contextlib.suppress(ConnectionError):
                    await doors("pay", order=7)
                    break
        return "done"

    async def stops(run: Run) -> str:
        with contextlib.suppress(ConnectionError):
            await Desk(run).orders("get", order=7)
        return "done"

    lost = "service.lost_response(when=after)"
    record = record_of(pays_elsewhere, f"service:orders[1] {lost}; service:till[1] {lost}")

    replay = replayed(record, stops)

    assert replay.outcome is ReplayOutcome.HELD
    assert replay.notes == ("`till.pay` is no longer called, as the target handles an earlier fault",)
    unknown = replace(record, undisturbed=None, declarations=None)
    assert replayed(unknown, stops).outcome is ReplayOutcome.MOVED


@contract("no-pen-pals")
def no_pen_pals(step: Step) -> bool:
    """Say no to a secret, which only the running contract sees."""
    return "sk-123" not in str(step.arguments)


def test_a_contract_on_secrets_cannot_judge_what_was_redacted() -> None:
    async def tells(run: Run) -> str:
        world = Desk(run)
        try:
            await world.orders("get", order=7)
        except ConnectionError:
            await world.ledger("find", order="sk-123")
        return "done"

    async def tells_nothing(run: Run) -> str:
        with contextlib.suppress(ConnectionError):
            await Desk(run).orders("get", order=7)
        return "done"

    lost, specs = "service:orders[1] service.lost_response(when=after)", ("no-crash", f"{__name__}:no_pen_pals")
    secretive = replace(desk(tells_nothing), secrets=("sk-[0-9]+",))
    for declared, outcome in ((True, ReplayOutcome.HELD), (False, ReplayOutcome.CHANGED)):
        record = record_of(tells, lost, "no-pen-pals", specs, secrets=("sk-[0-9]+",), declared=declared)
        replay = rerun_schedule(record, secretive)
        assert replay.outcome is outcome, replay
    assert "the record holds no secrets, which may be the reason" in replay.detail


def test_records_share_the_run_without_faults() -> None:
    made: list[str] = []

    async def counted(run: Run) -> str:
        made.append("run")
        return await retries(run)

    record, system, shared = record_of(retries, LOST), desk(counted), NominalRuns()
    for _ in range(3):
        assert rerun_schedule(record, system, shared=shared).outcome is ReplayOutcome.VIOLATED

    assert len(made) == 1 + 3


def test_a_fault_before_another_one_does_not_move_it() -> None:
    one = trial(20_281)

    assert one.is_right, one.replay


def test_the_page_says_which_versions_are_read() -> None:
    page = (Path(__file__).parents[2] / "replays" / "README.md").read_text("utf-8")

    assert f"| record (`*.replay`) | {FORMAT_VERSION} | read; written |" in page
    assert f"has format version {FORMAT_VERSION + 1}; this chaosagent reads up to {FORMAT_VERSION}." in page
    assert f"| review (`*{review.SUFFIX}`) | {review.VERSION} | read; written |" in page
    for version in range(1, FORMAT_VERSION):
        assert f"\n| | {version} | read" in page
    for outcome in ReplayOutcome:
        assert f"`{outcome.value}`" in page
