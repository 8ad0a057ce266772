"""Agents of pydantic-ai cross doors, and stay what they are."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaosagent.adapters.pydantic_ai import through_doors
from chaosagent.canonical import plain
from chaosagent.effects.rule import effect
from chaosagent.execution.exact_replay import serve
from chaosagent.execution.execute import Execution, Experiment, execute
from chaosagent.faults.dry import unpack_request
from chaosagent.faults.schedule import EMPTY, Schedule, parse
from chaosagent.targets.target import Run, Target, target
from chaosagent.vocabulary import Outcome, SystemConfig, Task

pytestmark = [
    pytest.mark.pydantic_ai,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("pydantic_ai") is None, reason="needs the extra pydantic-ai (pydantic_ai)"),
]
if find_spec("pydantic_ai") is not None:
    from pydantic import TypeAdapter
    from pydantic_ai import Agent, ModelRetry, ToolReturn, _utils, exceptions
    from pydantic_ai.conversation import Conversation
    from pydantic_ai.conversation_store import ConversationConflict, InMemoryConversationStore
    from pydantic_ai.messages import (
        BinaryContent,
        BinaryImage,
        ModelRequest,
        ModelResponse,
        TextPart,
        ThinkingPart,
        ToolCallPart,
        UserPromptPart,
    )
    from pydantic_ai.models.fallback import FallbackModel
    from pydantic_ai.models.function import FunctionModel

    from chaosagent.adapters.pydantic_ai import doors

EFFECTS = {"refund": effect("order")}


async def get_order(order: str) -> dict[str, Any]:
    """Read an order."""
    return {"order": order, "amount": 40}


def get_note(order: str) -> str:
    """Read the note on an order."""
    return f"no note on {order}"


async def refund(order: str, amount: int) -> str:
    """Pay a customer back."""
    return f"refunded {amount} for {order}"


def _calls(*calls: tuple[str, dict[str, Any]]) -> Any:
    return ModelResponse(parts=[ToolCallPart(name, arguments) for name, arguments in calls])


def _told(messages: Any) -> dict[str, str]:
    """Return what the tools said last, by name."""
    return {part.tool_name: part.model_response_str() for part in messages[-1].parts if part.part_kind == "tool-return"}


def _clerk(messages: Any, _: Any) -> Any:
    """Look twice, refund, and say what came of it."""
    told = _told(messages)
    if not told:
        return _calls(("get_order", {"order": "7"}), ("get_note", {"order": "7"}))
    if "get_order" in told:
        return _calls(("refund", {"order": "7", "amount": 40}))
    return ModelResponse(parts=[TextPart("; ".join(told.values()))])


def _agent(answer: Callable[[Any, Any], Any] = _clerk, tools: Any = (get_order, get_note, refund), **more: Any) -> Any:
    model = FunctionModel(answer, model_name="scripted")
    return Agent(model, **{"name": "clerk", "tools": list(tools), "capabilities": [doors], **more})


def _target(agent: Any, *others: Any, **said: Any) -> Target:
    @target
    async def desk(_: Task, run: Run) -> Outcome:
        with through_doors(run, [agent, *others], **said):
            result = await agent.run("Please refund order 7.")
        return Outcome(str(result.output), success=True)

    return desk


def _executed(system: Target, delta: str = "") -> Execution:
    """Run a target, and see that an exact replay is the same."""
    experiment = Experiment(system, system.task("default"), SystemConfig(), seed=1)
    schedule: Schedule = parse(delta) if delta else EMPTY
    execution = execute(experiment, schedule)
    served = serve(experiment, execution.trace, schedule)
    assert served.difference is None
    assert served.execution.trace.digest == execution.trace.digest
    return execution


def _hooks(execution: Execution) -> list[str]:
    return [str(step.hook) for step in execution.trace.steps]


def _landed(execution: Execution) -> list[str]:
    return [str(step.landed.landing.value) for step in execution.trace.steps if step.landed]


def test_an_exception_of_a_tool_ends_the_run_as_the_frameworks_own_would() -> None:
    execution = _executed(_target(_agent(), effects=EFFECTS), "service:refund[1]@clerk lost_response")

    assert execution.trace.ending_detail.startswith("ConnectionError")
    assert len(execution.trace.effects) == 1


def test_another_capability_recovers_from_an_injected_failure_as_from_a_real_one() -> None:
    from pydantic_ai.capabilities import Hooks

    async def recover(_: Any, *, error: Exception, **__: Any) -> str:
        return f"recovered from {type(error).__name__}"

    hooks = Hooks()
    hooks.on.tool_execute_error(recover)
    agent = _agent(capabilities=[hooks, doors])

    message = _executed(_target(agent), "service:refund[1]@clerk timeout").trace.outcome.message

    assert message == "recovered from TimeoutError"


def test_a_delay_meets_the_time_limit_that_the_framework_keeps() -> None:
    agent = _agent(tool_timeout=5)

    execution = _executed(_target(agent, effects=EFFECTS), "service:refund[1]@clerk delay(seconds=60)")

    assert execution.trace.outcome.message == '{"error":"Timed out after 5 seconds."}'
    assert _landed(execution) == ["landed"]


def test_a_run_has_its_time_limit_in_virtual_time() -> None:
    agent = _agent()

    @target
    async def desk(_: Task, run: Run) -> Outcome:
        with through_doors(run, [agent]):
            result = await agent.run("Please refund order 7.", timeout=30)
        return Outcome(str(result.output), success=True)

    assert _executed(desk).trace.outcome.success
    assert "RunTimedOut" in _executed(desk, "service:refund[1]@clerk delay(seconds=60)").trace.ending_detail


def test_an_altered_result_reaches_the_model() -> None:
    execution = _executed(_target(_agent()), "service:refund[1]@clerk dropped_response")

    assert _landed(execution) == ["landed"]
    assert execution.trace.outcome.message != "refunded 40 for 7"


def test_a_refusal_of_the_model_is_the_answer_of_the_agent() -> None:
    execution = _executed(_target(_agent()), "model:scripted[2]@clerk refusal")

    assert execution.trace.outcome.message == "I'm sorry, but I can't help with that."


@pytest.mark.parametrize(("kind", "missing"), [("unknown_tool", "get_order"), ("truncated_json", "get_order")])
def test_a_malformed_call_is_answered_by_the_framework(kind: str, missing: str) -> None:
    execution = _executed(_target(_agent()), f"model:scripted[1]@clerk malformed_tool_call(kind={kind})")

    assert not any(missing in hook for hook in _hooks(execution))
    assert _landed(execution) == ["landed"]


def test_a_tool_that_is_missing_from_the_list_cannot_be_called() -> None:
    execution = _executed(_target(_agent()), "tools:clerk[1]@clerk missing(index=3)")

    assert "Unknown tool name: 'refund'" in execution.trace.outcome.message


def test_synchronous_tools_run_one_after_the_other_in_the_order_of_asking() -> None:
    done: list[str] = []

    def one(order: str) -> str:
        done.append(f"one {order}")
        return "1"

    def two(order: str) -> str:
        done.append(f"two {order}")
        return "2"

    def model(messages: Any, _: Any) -> Any:
        if _told(messages):
            return ModelResponse(parts=[TextPart("done")])
        return _calls(("two", {"order": "a"}), ("one", {"order": "b"}), ("two", {"order": "c"}))

    for _ in range(20):
        done.clear()
        system = _target(_agent(model, [one, two]))
        execute(Experiment(system, system.task("default"), SystemConfig(), seed=1), EMPTY)
        assert done == ["two a", "one b", "two c"]


def test_a_model_that_fails_lets_the_framework_fall_back() -> None:
    def down(_: Any, __: Any) -> Any:
        raise exceptions.ModelHTTPError(503, "first", body={"error": "overloaded"})

    agent = _agent()
    agent.model = FallbackModel(FunctionModel(down, model_name="first"), FunctionModel(_clerk, model_name="second"))

    execution = _executed(_target(agent))

    assert _hooks(execution)[1:3] == ["model:first[1]@clerk", "model:second[1]@clerk"]
    assert execution.trace.outcome.message == "refunded 40 for 7"


def test_what_a_tool_raises_on_purpose_is_raised_again_in_a_replay() -> None:
    def refund(order: str, amount: int) -> str:
        raise ModelRetry(f"{amount} is too much for {order}")

    execution = _executed(_target(_agent(tools=[get_order, get_note, refund])))

    assert execution.trace.outcome.message == '{"error":"40 is too much for 7"}'


def test_what_pydantic_refuses_is_told_the_model_also_in_a_replay() -> None:
    def refund(order: str, amount: int) -> str:
        return str(TypeAdapter(int).validate_python(f"{amount} for {order}"))

    broken = _target(_agent(), handoffs=["refund"])
    altered = _executed(broken, "message:refund[1]@clerk corrupted(index=0, kind=null)")
    failing = _executed(_target(_agent(tools=[get_order, get_note, refund])))

    assert _hooks(altered)[5:7] == ["message:refund[1]@clerk", "model:scripted[3]@clerk"]
    asked = str(unpack_request(altered.trace.steps[6].request).arguments)
    assert "Input should be a valid" in asked
    assert "unable to parse string as an integer" in failing.trace.outcome.message


def test_a_hand_off_is_a_message_to_another_agent() -> None:
    def accountant(messages: Any, _: Any) -> Any:
        told = _told(messages)
        if told:
            return ModelResponse(parts=[TextPart(f"booked: {told['refund']}")])
        return _calls(("refund", {"order": "7", "amount": 40}))

    other = _agent(accountant, [refund], name="accountant")

    async def ask_accountant(wish: str) -> str:
        return str((await other.run(wish)).output)

    def front(messages: Any, _: Any) -> Any:
        told = _told(messages)
        if told:
            return ModelResponse(parts=[TextPart(told["ask_accountant"] or "nobody answers")])
        return _calls(("ask_accountant", {"wish": "refund order 7"}))

    system = _target(_agent(front, [ask_accountant]), other, effects=EFFECTS, handoffs=["ask_accountant"])

    nominal = _executed(system)
    twice = _executed(system, "message:ask_accountant[1]@clerk duplicate")
    lost = _executed(system, "message:ask_accountant[1]@clerk drop")

    assert nominal.trace.outcome.message == "booked: refunded 40 for 7"
    assert "service:refund[1]@accountant" in _hooks(nominal)
    assert [len(execution.trace.effects) for execution in (nominal, twice, lost)] == [1, 2, 0]


def test_a_conversation_is_kept_behind_the_door_of_a_memory() -> None:
    def parrot(messages: Any, _: Any) -> Any:
        asked = [part.content for message in messages for part in message.parts if part.part_kind == "user-prompt"]
        return ModelResponse(parts=[TextPart(" ".join(asked))])

    agent = _agent(parrot, [])

    @target
    async def desk(_: Task, run: Run) -> Outcome:
        with through_doors(run, [agent]) as kept:
            store = kept.memory(InMemoryConversationStore())
            for wish in ("one", "two", "three"):
                conversation = await store.load("c") or Conversation(conversation_id="c")
                result = await agent.run(wish, conversation=conversation)
                await store.save(result)
        return Outcome(str(result.output), success=True)

    assert _executed(desk).trace.outcome.message == "one two three"
    assert _executed(desk, "memory:conversations[5] stale_read").trace.outcome.message == "one three"
    assert _executed(desk, "memory:conversations[4] lost_update").trace.outcome.message == "one three"


def test_a_conversation_that_somebody_else_has_changed_is_a_conflict_also_in_a_replay() -> None:
    agent = _agent(lambda *_: ModelResponse(parts=[TextPart("yes")]), [])

    @target
    async def desk(_: Task, run: Run) -> Outcome:
        with through_doors(run, [agent]) as kept:
            store = kept.memory(InMemoryConversationStore())
            await store.save(await agent.run("one", conversation_id="c"))
            with pytest.raises(ConversationConflict) as caught:
                await store.save(await agent.run("two", conversation_id="c"))
        return Outcome(caught.value.conversation_id, success=True)

    assert _executed(desk).trace.outcome.message == "c"


def test_a_streamed_request_crosses_as_a_whole() -> None:
    async def stream(_: Any, __: Any) -> Any:
        for word in ("all ", "is ", "well"):
            yield word

    agent = _agent(tools=[])
    agent.model = FunctionModel(stream_function=stream, model_name="streamed")

    @target
    async def desk(_: Task, run: Run) -> Outcome:
        with through_doors(run, [agent]):
            async with agent.run_stream("How is it?") as result:
                return Outcome(str(await result.get_output()), success=True)

    assert _executed(desk).trace.outcome.message == "all is well"
    assert "sorry" in _executed(desk, "model:streamed[1]@clerk refusal").trace.outcome.message


def test_doors_may_be_entered_again() -> None:
    agent = _agent()

    @target
    async def desk(_: Task, run: Run) -> Outcome:
        kept, said = through_doors(run, [agent]), []
        for _again in range(2):
            with kept:
                said.append(str((await agent.run("Please refund order 7.")).output))
        return Outcome(str(said), success=True)

    assert _executed(desk).trace.outcome.message == str(["refunded 40 for 7"] * 2)


def test_nothing_is_left_behind() -> None:
    agent = _agent()
    before = (vars(_utils).copy(), vars(agent).copy(), agent.model, list(agent.toolsets))

    _executed(_target(agent), "service:refund[1]@clerk timeout")

    assert (vars(_utils), vars(agent), agent.model, list(agent.toolsets)) == before
    assert _utils._thread_executor.get() is None


def test_files_and_answers_in_parts_cross_whole() -> None:
    def chart(order: str) -> Any:
        return ToolReturn(
            return_value=["a chart of", BinaryContent(data=order.encode(), media_type="image/png")],
            content="look at it",
            metadata={"kept": True},
        )

    seen: list[Any] = []

    def model(messages: Any, _: Any) -> Any:
        seen.append(messages)
        if _told(messages):
            return ModelResponse(parts=[ThinkingPart("hm", signature="s"), TextPart("a"), TextPart("b")])
        return _calls(("chart", {"order": "7"}))

    system = _target(_agent(model, [chart]))
    execute(Experiment(system, system.task("default"), SystemConfig(), seed=1), EMPTY)

    (returned, *extra) = seen[1][-1].parts
    assert returned.content == ["a chart of", BinaryImage(data=b"7", media_type="image/png")]
    assert returned.metadata == {"kept": True}
    assert [part.content for part in extra if isinstance(part, UserPromptPart)] == ["look at it"]
    assert isinstance(seen[1][0], ModelRequest)


def test_a_synchronous_tool_may_wait_for_the_loop_beyond_its_time_limit() -> None:
    loops: list[asyncio.AbstractEventLoop] = []

    def slow(order: str) -> str:
        waiting = asyncio.run_coroutine_threadsafe(asyncio.sleep(60.0, order), loops[-1])
        return waiting.result()

    def model(messages: Any, _: Any) -> Any:
        loops.append(asyncio.get_running_loop())
        told = _told(messages)
        return ModelResponse(parts=[TextPart(told["slow"])]) if told else _calls(("slow", {"order": "7"}))

    async def thinking(messages: Any, info: Any) -> Any:
        return model(messages, info)

    agent = _agent(thinking, [slow])
    hasty = _agent(thinking, [slow], tool_timeout=5)

    assert _executed(_target(agent)).trace.outcome.message == "7"
    assert "Timed out" in _executed(_target(hasty)).trace.outcome.message


@settings(max_examples=60, deadline=None)
@given(
    parts=st.lists(
        st.one_of(
            st.builds(lambda text: ("text", text), st.text(max_size=8)),
            st.builds(lambda text: ("thinking", text), st.text(max_size=8)),
            st.builds(
                lambda name, value: ("call", (name, {"value": value})),
                st.sampled_from(["a", "b"]),
                st.one_of(st.integers(-(2**53), 2**53), st.text(max_size=5), st.none(), st.lists(st.booleans())),
            ),
        ),
        max_size=6,
    )
)
def test_an_answer_is_the_same_after_crossing(parts: list[tuple[str, Any]]) -> None:
    from chaosagent.adapters.core.drawn_ids import CallIds
    from chaosagent.adapters.pydantic_ai.messages import plain_answer, response_of

    made = {
        "text": TextPart,
        "thinking": ThinkingPart,
        "call": lambda call: ToolCallPart(call[0], call[1], tool_call_id=f"own-{call[0]}"),
    }
    response = ModelResponse(parts=[made[kind](value) for kind, value in parts], model_name="m")
    ids = CallIds()

    back = response_of(plain(plain_answer(response, ids)), ids)

    assert back.parts == response.parts
    assert (back.model_name, back.usage) == (response.model_name, response.usage)


def test_the_readme_shows_how(monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    found = re.search(r"^```python title=frameworks/with_pydantic_ai\.py\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert found is not None
    mine: Any = ModuleType("my_agents")
    mine.support = _agent()
    monkeypatch.setitem(sys.modules, "my_agents", mine)
    names: dict[str, Any] = {}
    exec(compile(found[1], "README.md", "exec"), names)

    trace = execute(Experiment(names["desk"], names["desk"].task("late"), SystemConfig(), 1), EMPTY).trace

    assert trace.outcome.message == "refunded 40 for 7"
    assert "service:refund" in [step.interface for step in trace.steps]
    assert len([line for line in found[1].splitlines() if line]) <= 12
