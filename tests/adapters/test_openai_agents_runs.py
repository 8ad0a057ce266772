"""How runs of the OpenAI Agents SDK go on: retries, streams, lists of tools, and checkpoints."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import pytest

from chaosagent.adapters.openai_agents import internals, through_doors
from chaosagent.errors import UsageError
from chaosagent.execution.exact_replay import serve
from chaosagent.execution.execute import Experiment, execute
from chaosagent.execution.untraced import UntracedRun
from chaosagent.faults.evaluation import Fingerprinting
from chaosagent.faults.schedule import parse
from chaosagent.targets.target import Run, Target, target
from chaosagent.trace.trace import Trace
from chaosagent.vocabulary import Outcome, SystemConfig, Task

pytestmark = [
    pytest.mark.openai_agents,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("agents") is None, reason="needs the extra openai-agents"),
]
agents: Any = pytest.importorskip("agents")
testing: Any = pytest.importorskip("agents.testing")

STALLED = "slow(kind=stalled)"


def look(order: str) -> str:
    """Look an order up."""
    return f"order {order}"


def call(name: str, **arguments: Any) -> list[Any]:
    return [testing.function_call(name, arguments, call_id=f"call_{uuid.uuid4().hex}")]


def says(text: str) -> list[Any]:
    return [testing.assistant_message(text)]


def clerk(*answers: Any, **options: Any) -> Any:
    model = testing.ScriptedModel(answers)
    return agents.Agent(name="clerk", model=model, tools=[agents.function_tool(look)], **options)


def target_of(make: Callable[[], Any], *, streamed: bool = False) -> Target:
    """Return a target that runs an agent and says what was streamed, or the answer."""

    @target
    async def desk(_: Task, run: Run) -> Outcome:
        doors = through_doors(run, make())
        doors.doors.take_checkpoints(lambda: None)
        if not streamed:
            result = await agents.Runner.run(doors.agent, "Hello.", run_config=doors.run_config)
            return Outcome(str(result.final_output), success=True)
        result = agents.Runner.run_streamed(doors.agent, "Hello.", run_config=doors.run_config)
        parts = [
            event.data.delta
            async for event in result.stream_events()
            if event.type == "raw_response_event" and event.data.type == "response.output_text.delta"
        ]
        return Outcome("".join(parts), success=True)

    return desk


def ran(system: Target, schedule: str = "") -> Trace:
    experiment = Experiment(system, system.task("default"), SystemConfig(), seed=1)
    trace = execute(experiment, parse(schedule)).trace
    served = serve(experiment, trace, parse(schedule))
    assert served.difference is None
    assert served.execution.trace.digest == trace.digest
    return trace


def hooks(trace: Trace, boundary: str) -> list[str]:
    return [step.hook.partition("[")[2] for step in trace.steps if step.interface.startswith(boundary)]


def test_a_retry_of_the_sdk_is_an_attempt_and_the_next_turn_another_call() -> None:
    retry = agents.ModelRetrySettings(
        max_retries=2, policy=agents.retry_policies.any(lambda _: True), backoff={"jitter": False}
    )
    settings = agents.ModelSettings(retry=retry)
    system = target_of(
        lambda: clerk(*[call("look", order="A")] * 3, says("done"), says("done"), model_settings=settings)
    )

    trace = ran(system, f"model:ScriptedModel[1]@clerk {STALLED}; model:ScriptedModel[1.1]@clerk {STALLED}")

    assert hooks(trace, "model:") == ["1]@clerk", "1.1]@clerk", "1.2]@clerk", "2]@clerk"]
    assert trace.outcome.message == "done"


def test_without_retries_a_model_that_does_not_answer_ends_the_run() -> None:
    trace = ran(target_of(lambda: clerk(says("done"))), f"model:ScriptedModel[1]@clerk {STALLED}")

    assert hooks(trace, "model:") == ["1]@clerk"]
    assert "ModelTimeout" in trace.ending_detail


def test_a_stream_tells_the_answer_that_crossed_and_a_broken_one_breaks_off() -> None:
    system = target_of(lambda: clerk(says("It is on its way.")), streamed=True)

    assert ran(system).outcome.message == "It is on its way."
    broken = ran(system, "model:ScriptedModel[1]@clerk truncated_stream(share=0.75)")
    assert broken.outcome.message == "It is"


def test_a_call_that_a_broken_stream_cuts_off_is_not_made() -> None:
    system = target_of(lambda: clerk(call("look", order="A-17"), says("done")), streamed=True)

    whole = ran(system)
    broken = ran(system, "model:ScriptedModel[1]@clerk truncated_stream(share=0.25)")

    assert hooks(whole, "service:") == ["1]@clerk"]
    assert hooks(broken, "service:") == []


def test_tools_of_an_mcp_server_are_told_once_and_again_when_they_have_changed() -> None:
    mcp, types = pytest.importorskip("agents.mcp"), pytest.importorskip("mcp.types")

    class Books(mcp.MCPServer):  # type: ignore[name-defined,misc]  # untyped where the extra is missing
        name = "books"

        def __init__(self, *, changing: bool) -> None:
            super().__init__()
            self.changing, self.asked = changing, 0

        async def connect(self) -> None: ...
        async def cleanup(self) -> None: ...
        async def list_prompts(self) -> Any: ...
        async def get_prompt(self, name: str, arguments: Any = None) -> Any: ...

        async def list_tools(self, *_: Any) -> list[Any]:
            self.asked += 1
            schema = {"type": "object", "properties": {"order": {"type": "string"}}}
            words = f"Read, version {self.asked}." if self.changing else "Read."
            return [types.Tool(name="read", description=words, inputSchema=schema)]

        async def call_tool(self, tool_name: str, arguments: Any, meta: Any = None) -> Any:  # noqa: ARG002
            return types.CallToolResult(content=[types.TextContent(type="text", text="one order")])

    def make(*, changing: bool) -> Any:
        model = testing.ScriptedModel([call("read", order="A"), call("read", order="B"), says("done")])
        return agents.Agent(name="clerk", model=model, mcp_servers=[Books(changing=changing)])

    assert len(hooks(ran(target_of(lambda: make(changing=False))), "tools:")) == 1
    assert len(hooks(ran(target_of(lambda: make(changing=True))), "tools:")) == 3


def test_there_is_a_checkpoint_before_each_request() -> None:
    system = target_of(lambda: clerk(call("look", order="A"), says("done")))
    experiment = Experiment(system, system.task("default"), SystemConfig(), seed=1)

    undisturbed, disturbed = (
        execute(experiment, parse(schedule), fingerprinting=Fingerprinting.STATE).evaluation.fingerprints
        for schedule in ("", "service:look[1]@clerk error_status")
    )

    assert len(undisturbed) == len(disturbed) == 2
    assert undisturbed[0].common == disturbed[0].common
    assert undisturbed[1].common != disturbed[1].common


@pytest.fixture
def _unknown_sdk() -> Iterator[None]:
    """Forget before and after a test whether the SDK has what is needed."""
    internals.check_internals.cache_clear()
    yield
    internals.check_internals.cache_clear()


@pytest.mark.usefixtures("_unknown_sdk")
def test_an_sdk_that_has_changed_inside_is_refused_by_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = clerk()
    assert internals.missing_internals() == []
    monkeypatch.delattr("agents.tool.set_function_tool_failure_error_function")
    monkeypatch.setitem(internals.FIELDS, "Handoff", ("_agent_ref", "_gone"))
    with pytest.raises(
        UsageError, match=r"openai-agents [\d.]+ has no agents.tool.set_function\w+, Handoff._gone, which"
    ):
        through_doors(UntracedRun(Task("default")), agent)
