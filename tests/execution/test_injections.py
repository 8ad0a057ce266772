"""What an injection does to a crossing, when it lands, and what the ledger and the agent know of it."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from chaosagent.canonical import Plain
from chaosagent.effects.rule import effect
from chaosagent.errors import PluginError
from chaosagent.execution.execute import Execution
from chaosagent.trace.step import StepKind
from chaosagent.vocabulary import Effect, Ending, Landing, Outcome, StatusError

Play = Callable[..., Execution]


async def pays(run: Any) -> Outcome:
    """Pay twice, and tell how it went."""
    pay = run.service("pay", {"pay": lambda id: {"paid": id}}, effects={"pay": effect("id")})  # noqa: A006
    told: list[Plain] = []
    for number in (1, 2):
        try:
            told.append(await pay("pay", id=number))
        except (TimeoutError, ConnectionError, StatusError) as error:
            told.append(f"{type(error).__name__}: {error}")
    return Outcome(state=told)


def landings(found: Execution) -> list[Landing]:
    return [landed.landing for landed in found.trace.landed]


def paid(found: Execution) -> list[Plain]:
    return [effect.identity["id"] for effect in found.trace.effects]


def test_without_injections_the_world_answers(play: Play) -> None:
    found = play(pays)

    assert found.trace.outcome.state == [{"paid": 1}, {"paid": 2}]
    assert paid(found) == [1, 2]
    assert found.evaluation.acted == -1
    assert len(found.evaluation.effective) == 0


def test_a_failure_before_the_commit_leaves_the_world_as_it_was(play: Play) -> None:
    found = play(pays, "service:pay[1] test/fail(when=before)")

    assert found.trace.outcome.state == ["TimeoutError: injected", {"paid": 2}]
    assert paid(found) == [2]
    assert landings(found) == [Landing.LANDED]


def test_a_response_lost_after_the_commit_leaves_the_effect_in_the_ledger_and_a_failure_in_the_step(play: Play) -> None:
    found = play(pays, "service:pay[1] test/fail(when=after)")

    step = found.trace.steps[0]
    assert found.trace.outcome.state == ["TimeoutError: injected", {"paid": 2}]
    assert paid(found) == [1, 2]
    assert step.effects == (Effect("pay.pay", {"id": 1}),)
    assert step.failure is not None
    assert step.answer is None
    assert landings(found) == [Landing.LANDED]


@pytest.mark.parametrize(
    ("kind", "seen"),
    [
        ("timeout", "TimeoutError: injected"),
        ("connection", "ConnectionError: injected"),
        ("status", "StatusError: 503 injected"),
    ],
)
def test_injected_failures_are_raised_as_clients_raise_them(play: Play, kind: str, seen: str) -> None:
    found = play(pays, f"service:pay[1] test/fail(kind={kind})")

    assert found.trace.outcome.state == [seen, {"paid": 2}]


def test_a_changed_answer_is_what_the_agent_sees(play: Play) -> None:
    found = play(pays, 'service:pay[2] test/say(text="maybe")')

    assert found.trace.outcome.state == [{"paid": 1}, "maybe"]
    assert found.trace.steps[1].answer == "maybe"
    assert paid(found) == [1, 2]


def test_a_changed_request_reaches_the_world_and_the_step_keeps_what_was_asked(play: Play) -> None:
    found = play(pays, "service:pay[1] test/ask")

    assert found.trace.outcome.state == [{"paid": 99}, {"paid": 2}]
    assert found.trace.steps[0].arguments == {"id": 1}
    assert paid(found) == [99, 2]
    assert landings(found) == [Landing.LANDED]


def test_a_request_sent_twice_is_committed_twice(play: Play) -> None:
    found = play(pays, "service:pay[1] test/twice")

    assert found.trace.outcome.state == [{"paid": 1}, {"paid": 2}]
    assert paid(found) == [1, 1, 2]
    assert landings(found) == [Landing.LANDED]


def test_an_answer_that_only_arrives_later_has_landed(play: Play) -> None:
    found = play(pays, "service:pay[1] test/hold(seconds=30)")

    assert [(step.asked_at, step.arrived_at) for step in found.trace.steps] == [(0, 30), (30, 30)]
    assert landings(found) == [Landing.LANDED]


def test_an_injection_that_changes_nothing_has_not_landed_and_costs_nothing(play: Play) -> None:
    found = play(pays, "service:pay[1] test/same")

    assert landings(found) == [Landing.NO_CHANGE]
    assert len(found.evaluation.effective) == 0
    assert found.evaluation.acted == -1
    assert found.trace.outcome == play(pays).trace.outcome


def test_an_injection_whose_hook_is_not_reached_leaves_the_run_as_it_was(play: Play) -> None:
    found = play(pays, "service:pay[3] test/fail; service:other[1] test/fail; service:pay[1]@somebody test/fail")

    assert found.trace.landed == ()
    assert found.trace.digest == play(pays).trace.digest


def test_an_exception_of_the_world_that_nobody_touched_is_raised_as_it_is(play: Play) -> None:
    raised = LookupError("no such order", 7)

    def fails() -> None:
        raise raised

    async def agent(run: Any) -> str:
        try:
            await run.service("crm", {"get": fails})("get")
        except LookupError as error:
            return str(error is raised)
        return "answered"

    for schedule in ("", "service:crm[1] test/same"):
        found = play(agent, schedule)
        assert found.trace.outcome.message == "True"
        assert found.trace.steps[0].failure is not None


async def waits(run: Any) -> str:
    """Give up on a call after ten seconds."""
    pay = run.service("pay", {"pay": lambda: "paid"}, effects={"pay": effect()})
    try:
        async with asyncio.timeout(10):
            return str(await pay("pay"))
    except TimeoutError:
        return "gave up"


def test_a_delayed_call_that_the_target_cancels_has_landed_and_was_committed(play: Play) -> None:
    found = play(waits, "service:pay[1] test/hold(seconds=30)")

    step = found.trace.steps[0]
    assert found.trace.outcome.message == "gave up"
    assert step.kind is StepKind.CANCELLED
    assert (step.asked_at, step.arrived_at, step.response) == (0, 10, b"")
    assert len(found.trace.effects) == 1
    assert landings(found) == [Landing.LANDED]
    assert [str(injection) for injection in found.evaluation.effective] == ["service:pay[1] test/hold(seconds=30.0)"]


def test_a_delay_that_the_target_waits_out_is_no_cancellation(play: Play) -> None:
    found = play(waits, "service:pay[1] test/hold(seconds=9)")

    assert found.trace.outcome.message == "paid"
    assert found.trace.steps[0].kind is StepKind.CALL


async def slow_world() -> str:
    await asyncio.sleep(30)
    return "paid"


@pytest.mark.parametrize("operator", ["test/hold", "test/same", "test/say"])
def test_an_injection_that_had_not_acted_when_the_target_gave_up_has_not_landed(play: Play, operator: str) -> None:
    async def agent(run: Any) -> str:
        try:
            return str(await asyncio.wait_for(run.service("pay", {"pay": slow_world})("pay"), 10))
        except TimeoutError:
            return "gave up"

    found = play(agent, f"service:pay[1] {operator}")

    assert found.trace.steps[0].kind is StepKind.CANCELLED
    assert landings(found) == [Landing.NO_CHANGE]
    assert len(found.evaluation.effective) == 0


def test_a_cancelled_call_is_a_place_where_something_could_have_been_injected(play: Play) -> None:
    async def agent(run: Any) -> None:
        pay = run.service("pay", {"pay": slow_world})
        with pytest.raises(TimeoutError, match=r"^$"):
            await asyncio.wait_for(pay("pay"), 10)

    (crossing,) = play(agent).evaluation.crossings

    assert (crossing.response, crossing.answered) == (b"", -1)
    assert (crossing.asked_at, crossing.answered_at) == (0.0, 0.0)


def test_a_call_that_is_open_when_the_target_ends_keeps_its_effect(play: Play) -> None:
    async def agent(run: Any) -> str:
        pay = run.service("pay", {"pay": lambda: "paid"}, effects={"pay": effect()})
        running = asyncio.create_task(pay("pay"))
        await asyncio.sleep(1)
        return "ended" if not running.done() else "waited"

    found = play(agent, "service:pay[1] test/hold(seconds=30)")

    assert found.trace.outcome.message == "ended"
    assert [step.kind for step in found.trace.steps] == [StepKind.CANCELLED]
    assert len(found.trace.effects) == 1
    assert landings(found) == [Landing.LANDED]


def test_a_call_that_never_returns_is_seen_in_the_trace_of_the_deadlock(play: Play) -> None:
    async def never() -> None:
        await asyncio.Event().wait()

    async def agent(run: Any) -> None:
        await run.service("crm", {"get": never})("get")

    found = play(agent)

    assert found.trace.ending is Ending.DEADLOCK
    assert [step.kind for step in found.trace.steps] == [StepKind.CANCELLED]
    assert len(found.evaluation.crossings) == 1


async def talks(run: Any) -> Outcome:
    """Send two messages and read what has come after ten seconds."""
    channel = run.message("team")
    await channel("send", to="b", body="first")
    await channel("send", to="b", body="second")
    await run.clock.sleep(10)
    return Outcome(state=[await run.receive("team", "b"), await run.receive("team", "b")])


def test_a_deferred_message_arrives_late_as_a_step_of_its_own(play: Play) -> None:
    found = play(talks, "message:team[1] test/later(seconds=5)")

    assert found.trace.outcome.state == ["second", "first"]
    late = found.trace.steps[2]
    assert late.kind is StepKind.LATE
    assert (late.hook, late.asked_at, late.arrived_at) == ("message:team[1]", 0, 5)
    assert late.arguments == {"body": "first", "to": "b"}
    assert landings(found) == [Landing.LANDED]


def test_a_deferred_request_that_is_due_after_the_end_never_reaches_the_world(play: Play) -> None:
    found = play(pays, "service:pay[1] test/later(seconds=50)")

    assert [step.kind for step in found.trace.steps] == [StepKind.CALL, StepKind.CALL]
    assert paid(found) == [2]
    assert landings(found) == [Landing.LANDED]


def test_a_deferred_request_commits_when_it_reaches_the_world(play: Play) -> None:
    async def agent(run: Any) -> None:
        await pays(run)
        await run.clock.sleep(60)

    found = play(agent, "service:pay[1] test/later(seconds=50)")

    assert paid(found) == [2, 1]
    assert [step.effects for step in found.trace.steps] == [
        (),
        (Effect("pay.pay", {"id": 2}),),
        (Effect("pay.pay", {"id": 1}),),
    ]


def test_a_star_acts_on_every_call_and_a_burst_on_some(play: Play) -> None:
    async def agent(run: Any) -> Outcome:
        crm = run.service("crm", {"get": lambda: "right"})
        return Outcome(state=[await crm("get") for _ in range(5)])

    every = play(agent, "service:crm[*] test/say")
    some = play(agent, "service:crm[2..3] test/say")
    rest = play(agent, "service:crm[4..] test/say")

    assert every.trace.outcome.state == ["other"] * 5
    assert some.trace.outcome.state == ["right", "other", "other", "right", "right"]
    assert rest.trace.outcome.state == ["right", "right", "right", "other", "other"]
    assert [str(injection.hook) for injection in some.evaluation.effective] == ["service:crm[2]", "service:crm[3]"]


def test_bursts_mean_every_attempt_and_single_hooks_one_of_them(play: Play) -> None:
    async def agent(run: Any) -> Outcome:
        asking = run.service("crm", {"get": lambda: "right"}).ask("get")
        return Outcome(state=[await asking.attempt() for _ in range(3)])

    assert play(agent, "service:crm[1] test/say").trace.outcome.state == ["other", "right", "right"]
    assert play(agent, "service:crm[1.2] test/say").trace.outcome.state == ["right", "right", "other"]
    assert play(agent, "service:crm[*] test/say").trace.outcome.state == ["other"] * 3


def test_a_hook_without_an_agent_acts_on_whoever_calls_first(play: Play) -> None:
    async def agent(run: Any) -> Outcome:
        crm, told = run.service("crm", {"get": lambda: "right"}), []
        for name in ("a", "b"):
            with run.agent(name):
                told.append(await crm("get"))
        return Outcome(state=told)

    found = play(agent, "service:crm[1] test/say")

    assert found.trace.outcome.state == ["other", "right"]
    assert [str(injection.hook) for injection in found.evaluation.effective] == ["service:crm[1]@a"]
    assert play(agent, "service:crm[1]@b test/say").trace.outcome.state == ["right", "other"]


def test_an_operator_sees_what_its_interface_answered_before_and_nothing_of_now(play: Play) -> None:
    async def agent(run: Any) -> Outcome:
        counts = iter(range(100))
        crm = run.service("crm", {"get": lambda: next(counts)})
        return Outcome(state=[await crm("get") for _ in range(12)][-1])

    found = play(agent, "service:crm[12] test/earlier")

    assert found.trace.outcome.state == [10, [3, 4, 5, 6, 7, 8, 9, 10]]


@pytest.mark.parametrize("operation", ["get", "put"])
def test_an_operator_sees_who_asks_what_of_which_interface(play: Play, operation: str) -> None:
    async def agent(run: Any) -> Outcome:
        crm = run.service("crm", {"get": lambda key: key, "put": lambda key: key}, read_only=("get",))
        with run.agent("clerk"):
            return Outcome(state=await crm(operation, key="a"))

    state = play(agent, "service:crm[1] test/see").trace.outcome.state

    assert state == ["service", "service:crm", "clerk", operation == "get", operation, {"key": "a"}]


def test_history_is_what_was_known_when_the_world_answered_also_when_others_call_meanwhile(play: Play) -> None:
    async def get(seconds: int) -> int:
        await asyncio.sleep(seconds)
        return seconds

    async def agent(run: Any) -> Outcome:
        crm = run.service("crm", {"get": get}, stale=lambda *_: "old")
        return Outcome(state=[*await asyncio.gather(crm("get", seconds=5), crm("get", seconds=1))])

    assert play(agent, "service:crm[1] test/earlier").trace.outcome.state == [["old", [1]], 1]


def test_history_is_what_was_known_before_also_where_the_world_was_asked_for_something_else(play: Play) -> None:
    async def agent(run: Any) -> Outcome:
        crm = run.service("crm", {"get": lambda id: id}, stale=lambda *_: "old")  # noqa: A006
        return Outcome(state=[await crm("get", id=number) for number in (1, 2)])

    assert play(agent, "service:crm[2] test/earlier(asks=other)").trace.outcome.state == [1, ["old", [1]]]


def test_an_operator_draws_from_the_stream_of_its_hook(play: Play) -> None:
    async def agent(run: Any) -> Outcome:
        crm = run.service("crm", {"get": lambda: 0})
        return Outcome(state=[await crm("get"), await crm("get")])

    def drawn(seed: int) -> Any:
        return play(agent, "service:crm[*] test/draw", seed=seed).trace.outcome.state

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)
    assert drawn(1)[0] != drawn(1)[1]


def test_positions_tell_what_acted_before_what(play: Play) -> None:
    async def agent(run: Any) -> None:
        crm = run.service("crm", {"get": lambda: 0, "slow": slow_world})
        await asyncio.gather(crm("slow"), crm("get"))

    slow, quick = play(agent).evaluation.crossings

    assert slow.asked < quick.asked < quick.answered < slow.answered
    assert quick.alone
    assert not slow.alone
    assert (slow.asked_at, slow.answered_at) == (0, 30)


@pytest.mark.parametrize(("declared", "told"), [(("get",), [True, False]), (True, [True, True]), (False, [False] * 2)])
def test_a_crossing_tells_whether_its_operation_changes_nothing(play: Play, declared: Any, told: list[bool]) -> None:
    async def agent(run: Any) -> None:
        crm = run.service("crm", {"get": lambda: 0, "put": lambda: 0}, read_only=declared)
        await crm("get")
        await crm("put")

    assert [crossing.read_only for crossing in play(agent).evaluation.crossings] == told


def test_an_injection_acts_when_it_first_does_more_than_pass_on(play: Play) -> None:
    said = play(pays, "service:pay[1] test/say").evaluation
    failed_after = play(pays, "service:pay[1] test/fail(when=after)").evaluation
    failed_before = play(pays, "service:pay[1] test/fail(when=before)").evaluation

    assert said.acted == said.crossings[0].answered
    assert failed_after.acted == failed_after.crossings[0].answered
    assert failed_before.acted == failed_before.crossings[0].asked


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("raises", r"service:pay\[1\] test/broken\(how=raises\) raised KeyError: no such field"),
        ("returns", r"service:pay\[1\] test/broken\(how=returns\) returned str; operators return a Response"),
    ],
)
def test_a_mistake_of_an_operator_is_no_behaviour_of_the_target(play: Play, how: str, message: str) -> None:
    async def swallows(run: Any) -> str:
        try:
            await pays(run)
        except BaseException:
            return "swallowed"
        return "paid"

    for target in (pays, swallows):
        with pytest.raises(PluginError, match=message):
            play(target, f"service:pay[1] test/broken(how={how})")
