"""The doors of a run: what may stand behind them, how calls are counted, and what crosses."""

import asyncio
import contextlib
import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from chaosagent.canonical import Plain
from chaosagent.effects.rule import EffectOf, effect
from chaosagent.errors import TargetError
from chaosagent.execution.execute import Execution
from chaosagent.targets.target import Run
from chaosagent.trace.step import StepKind
from chaosagent.vocabulary import Boundary, Ending, Impact, Outcome

Play = Callable[..., Execution]


class _Orders:
    def __init__(self) -> None:
        self.limit = 3

    def get(self, id: int) -> dict[str, int]:  # noqa: A002  # as agents call it
        return {"id": id, "limit": self.limit}

    async def slow(self, id: int) -> int:  # noqa: A002
        await asyncio.sleep(2)
        return id

    def _secret(self) -> str:
        return "not an operation"


def hooks(found: Execution) -> list[str]:
    return [step.hook for step in found.trace.steps]


def test_a_function_a_mapping_and_an_object_can_stand_behind_a_door(play: Play) -> None:
    async def shop(run: Any) -> Outcome:
        function = run.service("function", lambda operation, **arguments: [operation, arguments])
        mapping = run.service("mapping", {"get": lambda order: order})
        thing = run.service("object", _Orders())
        state = [await function("get", id=1), await mapping("get", order=2), await thing("get", id=3)]
        return Outcome(state=[*state, await thing("slow", id=4)])

    found = play(shop)

    assert found.trace.outcome.state == [["get", {"id": 1}], 2, {"id": 3, "limit": 3}, 4]
    assert [step.arrived_at for step in found.trace.steps] == [0, 0, 0, 2]


@pytest.mark.parametrize("behind", [{"get": print}, _Orders()])
@pytest.mark.parametrize("operation", ["fetch", "_secret", "limit", "__init__"])
def test_an_operation_that_does_not_exist_is_an_answer_of_the_world(play: Play, behind: object, operation: str) -> None:
    async def shop(run: Any) -> str:
        try:
            await run.service("crm", behind)(operation)
        except LookupError as error:
            return str(error)
        return "answered"

    found = play(shop)

    assert found.trace.outcome.message == f"service:crm has no operation {operation!r}"
    assert found.trace.steps[0].failure is not None
    assert found.trace.steps[0].failure.kind == "LookupError"


@pytest.mark.parametrize("behind", ["a text", 5, None, [1]])
def test_what_cannot_be_called_is_refused(play: Play, behind: object) -> None:
    async def shop(run: Any) -> None:
        run.service("crm", behind)

    with pytest.raises(TargetError, match=r"behind service:crm is .*; it must be a function"):
        play(shop)


def test_a_retriever_a_memory_a_model_a_message_and_a_prompt_cross_their_boundaries(play: Play) -> None:
    async def agent(run: Any) -> Outcome:
        kb = run.retrieval("kb", lambda _, query: [{"id": "a", "text": query}])
        memory, model = run.memory("notes"), run.model("llm", lambda _, **__: {"content": "x", "tool_calls": []})
        channel, inbox = run.message("team"), run.prompt("inbox")
        await memory("write", key="k", value=[1])
        await memory("append", key="k", value=2)
        await channel("send", to="planner", body={"text": "hello"})
        return Outcome(
            state=[
                await kb("search", query="refunds"),
                await memory("read", key="k"),
                await memory("read", key="other"),
                await memory("keys"),
                await model("complete", prompt="p"),
                await inbox("read", text="Dear shop"),
                await run.receive("team", "planner"),
            ]
        )

    found = play(agent)

    assert found.trace.outcome.state == [
        [{"id": "a", "text": "refunds"}],
        [1, 2],
        None,
        ["k"],
        {"content": "x", "tool_calls": []},
        "Dear shop",
        {"text": "hello"},
    ]
    seen = {step.boundary for step in found.trace.steps}
    assert seen == {Boundary.RETRIEVAL, Boundary.MEMORY, Boundary.MODEL, Boundary.MESSAGE, Boundary.PROMPT}
    read_only = {crossing.place.interface: crossing.read_only for crossing in found.evaluation.crossings}
    assert read_only["retrieval:kb"]
    assert read_only["model:llm"]
    assert read_only["prompt:inbox"]
    assert not read_only["message:team"]


def test_messages_wait_for_their_recipient_and_recipients_for_messages(play: Play) -> None:
    async def team(run: Any) -> Outcome:
        channel = run.message("team")

        async def listen() -> list[Plain]:
            return [await run.receive("team", "b"), await run.receive("team", "b")]

        listening = asyncio.create_task(listen())
        await channel("send", to="a", body="for a")
        await asyncio.sleep(1)
        await channel("send", to="b", body="first")
        await channel("send", to="b", body="second")
        return Outcome(state=[await run.receive("team", "a"), await listening])

    assert play(team).trace.outcome.state == ["for a", ["first", "second"]]


def test_a_receiver_that_gives_up_loses_no_message_for_the_others(play: Play) -> None:
    async def team(run: Any) -> str:
        channel = run.message("team")
        first = asyncio.create_task(run.receive("team", "b"))
        second = asyncio.create_task(run.receive("team", "b"))
        await asyncio.sleep(1)
        await channel("send", to="b", body="hello")
        first.cancel()  # it was woken in this very turn
        return str(await second)

    assert play(team).trace.outcome.message == "hello"


def test_waiting_for_a_message_that_nobody_sends_is_a_deadlock(play: Play) -> None:
    async def team(run: Any) -> str:
        return str(await run.receive("team", "planner"))

    assert play(team).trace.ending is Ending.DEADLOCK


def test_calls_are_counted_for_each_agent_in_the_order_of_asking(play: Play) -> None:
    async def team(run: Any) -> None:
        crm = run.service("crm", _Orders())

        async def work(name: str) -> None:
            with run.agent(name):
                await crm("get", id=1)
                await asyncio.sleep(1)
                await crm("get", id=2)

        await asyncio.gather(work("planner"), work("action"))

    assert hooks(play(team)) == [
        "service:crm[1]@planner",
        "service:crm[1]@action",
        "service:crm[2]@planner",
        "service:crm[2]@action",
    ]


@pytest.mark.parametrize("names", [("planner", ""), ("", "planner"), ("a", "b", "")])
def test_either_every_call_of_an_interface_has_an_agent_or_none_has(play: Play, names: tuple[str, ...]) -> None:
    async def team(run: Any) -> None:
        crm = run.service("crm", _Orders())
        for name in names:
            with run.agent(name) if name else contextlib.nullcontext():
                await crm("get", id=1)

    with pytest.raises(TargetError, match=r"service:crm is called by the agent '\w+' and by nobody in particular"):
        play(team)


def test_parallel_calls_count_as_they_were_asked_and_not_as_they_were_answered(play: Play) -> None:
    async def wait(seconds: float) -> float:
        await asyncio.sleep(seconds)
        return seconds

    async def agent(run: Any) -> None:
        crm = run.service("crm", {"wait": wait})
        await asyncio.gather(crm("wait", seconds=3), crm("wait", seconds=1), crm("wait", seconds=2))

    found = play(agent)

    assert hooks(found) == ["service:crm[2]", "service:crm[3]", "service:crm[1]"]
    assert [crossing.place.occurrence for crossing in found.evaluation.crossings] == [1, 2, 3]


def test_attempts_of_one_call_are_told_apart_from_further_calls(play: Play) -> None:
    async def agent(run: Any) -> None:
        crm = run.service("crm", _Orders())
        with run.agent("a"):
            first, second = crm.ask("get", id=1), crm.ask("get", id=2)
            await first.attempt()
            await second.attempt()
            await first.attempt()
            await first.attempt()
            await crm("get", id=3)

    assert hooks(play(agent)) == [
        "service:crm[1]@a",
        "service:crm[2]@a",
        "service:crm[1.1]@a",
        "service:crm[1.2]@a",
        "service:crm[3]@a",
    ]


def test_a_door_that_is_opened_again_alike_is_the_same_door(play: Play) -> None:
    orders = _Orders()

    async def agent(run: Any) -> None:
        await run.service("crm", orders, read_only=True)("get", id=1)
        await run.service("crm", orders, read_only=True)("get", id=2)
        await run.memory("notes")("write", key="a", value=1)
        assert await run.memory("notes")("read", key="a") == 1

    assert hooks(play(agent))[:2] == ["service:crm[1]", "service:crm[2]"]


@pytest.mark.parametrize(
    "again", [{"implementation": _Orders()}, {"read_only": True}, {"effects": {"get": lambda *_: None}}]
)
def test_two_doors_of_one_name_that_differ_are_refused(play: Play, again: Mapping[str, Any]) -> None:
    orders = _Orders()

    async def agent(run: Any) -> None:
        run.service("crm", orders)
        run.service("crm", **{"implementation": orders, **again})

    with pytest.raises(TargetError, match=r"opens 'service:crm' twice, differently\. Open it once"):
        play(agent)


@pytest.mark.parametrize("name", ["", "a b", "a[1]", "a@b", "a;b", "a#b", "a\nb", "\x1b[31m", "\ud800"])
def test_names_that_no_schedule_could_hold_are_refused(play: Play, name: str) -> None:
    async def opens(run: Any) -> None:
        run.service(name, _Orders())

    async def acts(run: Any) -> None:
        run.agent(name)

    with pytest.raises(TargetError, match="names an interface"):
        play(opens)
    with pytest.raises(TargetError, match="names an agent"):
        play(acts)


def test_a_name_may_be_in_any_script(play: Play) -> None:
    async def agent(run: Any) -> None:
        with run.agent("Prüfer"):
            await run.service("帳簿", _Orders())("get", id=1)

    assert hooks(play(agent)) == ["service:帳簿[1]@Prüfer"]


def test_both_sides_get_fresh_plain_data(play: Play) -> None:
    kept: list[Any] = []

    @dataclasses.dataclass
    class Record:
        id: int
        tags: tuple[str, ...]

    def put(items: list[int]) -> Record:
        kept.append(items)
        items.append(99)
        return Record(1, ("b", "a"))

    async def agent(run: Any) -> Outcome:
        items: list[Plain] = [1]
        crm = run.service("crm", {"put": put})
        first = await crm("put", items=items)
        first["tags"].append("mine")
        second = await crm("put", items=items)
        return Outcome(state=[items, first, second])

    found = play(agent)

    assert found.trace.outcome.state == [[1], {"id": 1, "tags": ["b", "a", "mine"]}, {"id": 1, "tags": ["b", "a"]}]
    assert kept == [[1, 99], [1, 99]]
    assert [step.arguments for step in found.trace.steps] == [{"items": [1]}] * 2
    assert found.trace.steps[0].answer == {"id": 1, "tags": ["b", "a"]}


def test_a_world_that_changes_what_it_is_given_changes_no_further_delivery(play: Play) -> None:
    seen: list[list[int]] = []

    def put(items: list[int]) -> int:
        seen.append([*items])
        items.append(99)
        return len(items)

    async def agent(run: Any) -> None:
        await run.service("crm", {"put": put})("put", items=[1])

    play(agent, "service:crm[1] test/twice")

    assert seen == [[1], [1]]


def test_what_an_agent_is_told_does_not_depend_on_whether_an_injection_looked_at_it(play: Play) -> None:
    async def agent(run: Any) -> Outcome:
        told = await run.service("crm", {"get": lambda: {"z": (1, 2), "a": {3}}})("get")
        return Outcome(state=[list(told), type(told["z"]).__name__, told])

    assert play(agent).trace.outcome == play(agent, "service:crm[1] test/same").trace.outcome


def test_text_with_lone_surrogates_and_terminal_escapes_and_big_numbers_cross_as_they_are(play: Play) -> None:
    odd: dict[str, Plain] = {"text": "\ud800\x1b[2J\u202e\0", "big": 2**200, "nan": float("inf"), "bytes": b"\xff"}

    async def agent(run: Any) -> Outcome:
        return Outcome(state=await run.service("crm", {"echo": lambda value: value})("echo", value=odd))

    found = play(agent)

    assert found.trace.outcome.state == odd
    assert found.trace.steps[0].answer == odd
    assert found.trace.digest == play(agent).trace.digest


@pytest.mark.parametrize("value", [object(), {1: 2}, [1j]])
def test_what_is_no_plain_data_does_not_cross_in_either_direction(play: Play, value: object) -> None:
    async def asks(run: Any) -> None:
        await run.service("crm", {"put": lambda **_: None})("put", value=value)

    async def answers(run: Any) -> None:
        await run.service("crm", {"get": lambda: value})("get")

    with pytest.raises(TargetError, match=r"task 'default': service:crm\[1\] put is asked with what cannot cross"):
        play(asks)
    with pytest.raises(TargetError, match=r"service:crm\[1\] get answers what cannot cross"):
        play(answers)


def test_a_refusal_cannot_be_swallowed_by_the_target(play: Play) -> None:
    async def agent(run: Any) -> str:
        for _ in range(3):
            try:
                await run.service("crm", {"put": lambda **_: None})("put", value=object())
            except BaseException:
                continue
        return "all is well"

    with pytest.raises(TargetError, match=r"is asked with what cannot cross: builtins\.object crosses a boundary"):
        play(agent)


def test_a_stale_answer_is_what_the_interface_declares_or_nothing(play: Play) -> None:
    def stale(_: str, arguments: Mapping[str, Plain]) -> Plain:
        if arguments["id"] == 1:
            return "old"
        raise LookupError

    async def agent(run: Any) -> Outcome:
        crm = run.service("crm", {"get": lambda **_: "new"}, stale=stale)
        return Outcome(state=[await crm("get", id=1), await crm("get", id=2)])

    assert play(agent, "service:crm[*] test/earlier").trace.outcome.state == [["old", []], "new"]


def test_a_declaration_that_fails_is_the_target_s_mistake_and_no_answer_of_the_world(play: Play) -> None:
    def fails(*_: object) -> None:
        raise ZeroDivisionError("oops")

    async def effects(run: Any) -> None:
        await run.service("crm", {"put": lambda: None}, effects={"put": fails})("put")

    async def wrong(run: Any) -> None:
        await run.service("crm", {"put": lambda: None}, effects={"put": lambda *_: ["refund"]})("put")

    async def stale(run: Any) -> None:
        await run.service("crm", {"put": lambda: None}, stale=fails)("put")

    with pytest.raises(TargetError, match="effects of service:crm, put: ZeroDivisionError: oops"):
        play(effects)
    with pytest.raises(TargetError, match="effects of service:crm, put: TypeError: 'refund' is no Effect"):
        play(wrong)
    with pytest.raises(TargetError, match="stale of service:crm, put: ZeroDivisionError: oops"):
        play(stale)


def test_a_door_used_in_another_loop_is_refused_as_its_order_would_depend_on_chance(play: Play) -> None:
    async def agent(run: Any) -> None:
        crm = run.service("crm", _Orders())
        await asyncio.to_thread(lambda: asyncio.run(crm("get", id=1)))

    with pytest.raises(TargetError, match="is called from another thread or event loop than its run's"):
        play(agent)


def test_a_thread_reaches_a_door_through_the_run_s_loop(play: Play) -> None:
    async def agent(run: Any) -> Outcome:
        crm, loop = run.service("crm", _Orders()), asyncio.get_running_loop()

        def tool() -> Any:
            return asyncio.run_coroutine_threadsafe(crm("slow", id=5), loop).result(60.0)

        return Outcome(state=await asyncio.to_thread(tool))

    assert play(agent).trace.outcome.state == 5


def test_provenance_and_notes_stand_in_the_trace(play: Play) -> None:
    async def agent(run: Any) -> None:
        crm = run.service("crm", _Orders())
        with run.agent("a", "reader"):
            await crm("get", id=1)
            source = run.artifact()
            run.note("detected", kind="stale", hook=source)
            run.link(source, "supports", "answer")
            await crm("get", id=2)
            run.link("outcome", "derived_from", run.artifact())

    trace = play(agent).trace
    steps = trace.steps

    assert [step.kind for step in steps] == [StepKind.CALL, StepKind.NOTE, StepKind.CALL]
    assert steps[1].operation == "detected"
    assert steps[1].arguments == {"kind": "stale", "hook": "service:crm[1]@a"}
    assert steps[1].role == "reader"
    assert [tuple(link) for link in steps[2].links] == [("service:crm[1]@a", "supports", "answer")]
    assert steps[1].links == ()
    assert trace.links == (("outcome", "derived_from", "service:crm[2]@a"),)


def test_impacts_and_kinds_of_effects_are_as_declared(play: Play) -> None:
    async def agent(run: Any) -> None:
        rules = {"open": effect("id", impact=Impact.COMPENSATING, kind="ticket"), "pay": effect("id", "amount")}
        crm = run.service("crm", lambda *_, **__: "done", effects=rules)
        await crm("open", id=1, text="x")
        await crm("pay", id=2, amount=3)

    assert [tuple(effect) for effect in play(agent).trace.effects] == [
        ("ticket", {"id": 1}, Impact.COMPENSATING),
        ("crm.pay", {"id": 2, "amount": 3}, Impact.HIGH),
    ]


class _Shop:
    def pay(self, amount: int, note: str = "") -> int:
        return amount + len(note)


SHOP = {"pay": _Shop().pay}


@pytest.mark.parametrize("read_only", [True, ("get", "pay")])
def test_an_operation_that_changes_nothing_has_no_effects(play: Play, read_only: Any) -> None:
    async def run_it(run: Run) -> None:
        run.service("shop", SHOP, read_only=read_only, effects={"pay": EffectOf(("amount",))})

    with pytest.raises(TargetError, match="service:shop declares 'pay' read-only and declares its effects, too"):
        play(run_it)


@pytest.mark.parametrize("shop", [SHOP, _Shop()])
def test_effects_of_an_operation_that_a_door_does_not_have_are_refused(play: Play, shop: Any) -> None:
    async def run_it(run: Run) -> None:
        run.service("shop", shop, effects={"pays": EffectOf(("amount",))})

    with pytest.raises(TargetError, match=r"effects of 'pays', an operation it does not have. Did you mean 'pay'"):
        play(run_it)


def test_an_identity_is_made_of_arguments_that_a_call_has(play: Play) -> None:
    async def run_it(run: Run) -> None:
        await run.service("shop", SHOP, effects={"pay": EffectOf(("amuont",))})("pay", amount=1)

    with pytest.raises(TargetError, match=r"service:shop, pay: the identity has 'amuont'.*its arguments are amount"):
        play(run_it)


def test_an_argument_that_a_call_leaves_out_is_nothing_in_an_identity(play: Play) -> None:
    async def run_it(run: Run) -> None:
        await run.service("shop", SHOP, effects={"pay": EffectOf(("amount", "note"))})("pay", amount=1)

    assert play(run_it).trace.effects[0].identity == {"amount": 1, "note": None}


def test_arguments_without_a_name_and_operations_as_methods_are_told_how_to_call(play: Play) -> None:
    async def positional(run: Any) -> None:
        await run.service("crm", {"get": lambda id, lang="en": [id, lang]})("get", 7, "de")  # noqa: A006  # as agents do

    async def attempted(run: Any) -> None:
        await run.service("crm", _Orders()).ask("get", 7).attempt()

    async def of_any_operation(run: Any) -> None:
        await run.service("crm", lambda operation, **arguments: (operation, arguments))("get", 7)

    async def method(run: Any) -> None:
        await run.service("crm", _Orders()).get(id=7)

    takes = "TypeError: service:crm takes the arguments of an operation by keyword: door('get', "
    for agent, told in (
        (positional, f"{takes}id=..., lang=...)"),
        (attempted, f"{takes}id=...)"),
        (of_any_operation, f"{takes}name=...)"),
        (method, "AttributeError: service:crm has no attribute 'get'; an operation is called as door('get', name=...)"),
    ):
        trace = play(agent).trace
        assert (trace.ending_detail, trace.steps) == (told, ())
        assert trace.crashed_at.endswith(f" in {agent.__name__}")


def test_a_door_can_be_asked_what_it_has(play: Play) -> None:
    async def agent(run: Any) -> Outcome:
        door = run.service("crm", _Orders())
        half_made = object.__new__(type(door))
        return Outcome(state=[hasattr(one, name) for one in (door, half_made) for name in ("get", "__await__", "ask")])

    assert play(agent).trace.outcome.state == [False, False, True, False, False, True]
