"""Clients of MCP servers cross doors, fail as the SDK would have them fail, and repeat."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from chaosagent.adapters.mcp import through_doors
from chaosagent.canonical import Plain, unpack
from chaosagent.contracts.catalogue import default_contracts
from chaosagent.effects.rule import effect
from chaosagent.errors import TargetError
from chaosagent.execution.exact_replay import serve
from chaosagent.execution.execute import Execution, Experiment, execute
from chaosagent.execution.untraced import UntracedRun
from chaosagent.faults.schedule import EMPTY, parse
from chaosagent.targets.target import Run, Target, target
from chaosagent.vocabulary import Effect, Ending, Outcome, SystemConfig, Task

pytestmark = [
    pytest.mark.mcp,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("mcp") is None, reason="needs the extra mcp"),
]
mcp: Any = pytest.importorskip("mcp")
servers: Any = pytest.importorskip("mcp.server.mcpserver")
anyio: Any = pytest.importorskip("anyio")

WORLD: list[str] = []


@pytest.fixture(autouse=True)
def _nothing_was_done_before() -> None:
    WORLD.clear()


def get_order(order: str) -> dict[str, Any]:
    """Read an order."""
    WORLD.append(f"read {order}")
    return {"order": order, "amount": 40}


async def refund(order: str) -> dict[str, Any]:
    """Pay a customer back."""
    WORLD.append(f"paid {order}")
    return {"paid": order, "repeated": WORLD.count(f"paid {order}") > 1}


async def slow(order: str) -> str:
    """Take half a minute."""
    await anyio.sleep(30)
    return f"{order} at last"


async def refuse(order: str) -> str:
    """Fail on purpose."""
    raise servers.exceptions.ToolError(f"no such order: {order}")


def policy() -> str:
    """Say when to pay back."""
    return "Pay back within 30 days."


def greet(who: str) -> str:
    """Say how to speak to a customer."""
    return f"Be kind to {who}."


def shop() -> Any:
    """Return a server with tools that are functions and coroutines, a resource and a prompt."""
    server = servers.MCPServer("shop")
    for tool in (get_order, refund, slow, refuse):
        server.tool(structured_output=tool is not slow)(tool)
    server.resource("policy://refunds")(policy)
    server.prompt()(greet)
    return server


Agent = Callable[[Any], Any]


def target_of(agent: Agent, make: Any = shop, *, mode: str = "auto", **said: Any) -> Target:
    """Return a target that lets an agent use a client of a server."""

    @target(tasks=[Task("default")])
    async def desk(_: Task, run: Run) -> Outcome:
        async with mcp.Client(through_doors(run, make, "shop", **said), mode=mode) as client:
            return Outcome(str(await agent(client)), success=True)

    return desk


def ran(system: Target, schedule: str = "") -> Execution:
    """Run a target under a schedule; what is served from its trace afterwards must be the same, and ask nobody."""
    bare = Experiment(system, system.task("default"), SystemConfig(), 1, default_contracts())
    experiment = bare.with_nominal()
    WORLD.clear()
    execution = execute(experiment, parse(schedule))
    done = list(WORLD)
    served = serve(experiment, execution.trace, parse(schedule))
    assert served.difference is None
    assert served.execution.trace.digest == execution.trace.digest
    assert done == WORLD
    WORLD.clear()
    assert execute(experiment, parse(schedule)).trace.digest == execution.trace.digest
    WORLD[:] = done
    return execution


def seen(result: Any) -> tuple[Any, list[str], bool]:
    return result.structured_content, [block.text for block in result.content], result.is_error


async def everything(client: Any) -> list[Any]:
    """Use all that a server has."""
    tools = [tool.name for tool in (await client.list_tools()).tools]
    orders = await asyncio.gather(*(client.call_tool(name, {"order": "A"}) for name in tools))
    read = (await client.read_resource("policy://refunds")).contents[0].text
    greeting = (await client.get_prompt("greet", {"who": "Ann"})).messages[0].content.text
    return [tools, [seen(order) for order in orders], read, greeting]


async def pay(client: Any) -> Any:
    """Pay, and once more if it failed."""
    try:
        first = await client.call_tool("refund", {"order": "A"})
    except mcp.MCPError as error:
        return f"{error.code} {error.message}"
    return seen(first)


# ---------------------------------------------------------------------- nominal


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_all_that_a_client_asks_for_becomes_steps(mode: str) -> None:
    trace = ran(target_of(everything, mode=mode, effects={"refund": effect("order")})).trace

    crossed = [f"{step.interface} {step.operation}" for step in trace.steps]
    assert sorted(crossed) == sorted([
        "service:shop server/discover" if mode == "auto" else "service:shop initialize",
        "tools:shop list", "service:shop.get_order call", "service:shop.refund call", "service:shop.slow call",
        "service:shop.refuse call", "retrieval:shop read", "service:shop prompts/get", "prompt:shop read",
    ])  # fmt: skip
    assert [(effect.kind, effect.identity) for effect in trace.effects] == [("shop.refund.call", {"order": "A"})]
    assert WORLD == ["paid A", "read A"]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_sees_what_it_would_see_without_doors(mode: str) -> None:
    async def alone() -> Any:
        WORLD.clear()
        async with mcp.Client(shop(), mode=mode) as client:
            return await everything(client)

    async def doors() -> Any:
        WORLD.clear()
        async with mcp.Client(through_doors(UntracedRun(Task("default")), shop, "shop"), mode=mode) as client:
            return await everything(client)

    real = anyio.sleep
    anyio.sleep = lambda _: real(0)
    try:
        assert asyncio.run(doors()) == asyncio.run(alone())
    finally:
        anyio.sleep = real


def test_ids_tokens_and_the_name_of_the_client_do_not_cross() -> None:
    async def named(client: Any) -> Any:
        return await client.call_tool("get_order", {"order": "A"}, meta={"traceparent": "00-drawn-by-chance-01"})

    steps = ran(target_of(named)).trace.steps

    assert [unpack(step.request) for step in steps] == [
        ["server/discover", {}], ["call", {"order": "A"}], ["list", {}],
    ]  # fmt: skip


def test_the_trace_is_the_same_in_another_process() -> None:
    script = (
        "import importlib.util, sys\n"
        f"spec = importlib.util.spec_from_file_location('test_mcp', {__file__!r})\n"
        "module = importlib.util.module_from_spec(spec); sys.modules['test_mcp'] = module\n"
        "spec.loader.exec_module(module)\n"
        "print(module.nominal_digest())\n"
    )
    printed = [
        subprocess.run(
            [sys.executable, "-c", script], env={**os.environ, "PYTHONHASHSEED": seed}, check=True,
            capture_output=True, text=True, cwd=Path(__file__).parent,
        ).stdout.strip()
        for seed in ("1", "77")
    ]  # fmt: skip

    assert printed == [nominal_digest()] * 2


def nominal_digest() -> str:
    system = target_of(everything)
    return execute(Experiment(system, system.task("default"), SystemConfig(), 1), EMPTY).trace.digest


def test_functions_in_threads_are_asked_in_order_and_waited_for_in_virtual_time() -> None:
    async def together(client: Any) -> Any:
        slow_one = client.call_tool("slow", {"order": "B"})
        orders = [client.call_tool("get_order", {"order": order}) for order in "CABD"]
        return seen((await asyncio.gather(slow_one, *orders))[0])[1]

    trace = ran(target_of(together)).trace

    assert WORLD == ["read C", "read A", "read B", "read D"]
    assert trace.outcome.message == "['B at last']"
    assert max(step.arrived_at for step in trace.steps) == 30.0


def test_any_transport_will_do() -> None:
    memory = pytest.importorskip("mcp.client._memory").InMemoryTransport

    @contextlib.asynccontextmanager
    async def transport() -> AsyncIterator[Any]:
        async with memory(shop()) as streams:
            yield streams

    @target
    async def desk(_: Task, run: Run) -> Outcome:
        async with mcp.Client(through_doors(run, transport(), "shop")) as client:
            return Outcome(str(await pay(client)), success=True)

    ran(desk)
    assert WORLD == ["paid A"]


def test_a_session_of_ones_own_takes_the_streams() -> None:
    @target
    async def desk(_: Task, run: Run) -> Outcome:
        async with through_doors(run, shop(), "shop") as (read, write), mcp.ClientSession(read, write) as session:
            await session.initialize()
            return Outcome(str(seen(await session.call_tool("get_order", {"order": "A"}))), success=True)

    assert [step.interface for step in ran(desk).trace.steps] == [
        "service:shop", "service:shop.get_order", "tools:shop",
    ]  # fmt: skip


@pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")
def test_progress_and_samples_pass() -> None:
    told: list[float] = []

    async def work(context: Any) -> str:
        await context.report_progress(0.5, 1.0)
        result = await context.session.create_message(
            messages=[mcp.SamplingMessage(role="user", content={"type": "text", "text": "Hm?"})], max_tokens=5
        )
        return str(result.content.text)

    def make() -> Any:
        server = servers.MCPServer("shop")
        work.__annotations__["context"] = servers.Context
        server.tool()(work)
        return server

    async def sample(*_: Any) -> Any:
        text = {"type": "text", "text": "sampled"}
        return mcp.CreateMessageResult(role="assistant", content=text, model="m")

    async def progress(done: float, *_: Any) -> None:
        told.append(done)

    @target
    async def desk(_: Task, run: Run) -> Outcome:
        transport = through_doors(run, make, "shop")
        async with mcp.Client(transport, mode="legacy", sampling_callback=sample) as client:
            result = await client.call_tool("work", {}, progress_callback=progress)
            return Outcome(str(seen(result)[1]), success=True)

    trace = execute(Experiment(desk, desk.task("default"), SystemConfig(), 1), EMPTY).trace

    assert trace.outcome.message == "['sampled']"
    assert told == [0.5]


# ---------------------------------------------------------------------- faults


@pytest.mark.parametrize(
    ("fault", "told", "paid"),
    [
        ("timeout", "-32001 Request 'tools/call' timed out", 0),
        ("lost_response", "-32000 Connection closed", 1),
        ("dropped_response", "-32001 Request 'tools/call' timed out", 1),
        ("service.error_status(status=503)", "Error executing tool refund: 503 Service Unavailable", 0),
    ],
)
def test_a_fault_is_what_the_sdk_makes_of_such_a_failure(fault: str, told: str, paid: int) -> None:
    trace = ran(target_of(pay, effects={"refund": effect("order")}), f"service:shop.refund[1] {fault}").trace

    assert told in trace.outcome.message
    assert ["paid A"] * paid == WORLD
    assert len(trace.effects) == paid


def test_a_delay_reaches_the_clients_own_time_limit() -> None:
    async def hurried(client: Any) -> str:
        try:
            await client.call_tool("refund", {"order": "A"}, read_timeout_seconds=2)
        except mcp.MCPError as error:
            return f"{error.code}"
        return "paid"

    assert ran(target_of(hurried)).trace.outcome.message == "paid"
    late = ran(target_of(hurried), "service:shop.refund[1] service.delay(seconds=10)").trace
    assert late.outcome.message == "-32001"


def test_an_altered_answer_alters_text_and_structured_content_alike() -> None:
    trace = ran(target_of(pay), "service:shop.refund[1] field_corruption(field=paid,kind=garbled)").trace

    structured, [text], is_error = eval(trace.outcome.message)
    assert structured["paid"] != "A"
    assert structured["paid"] in text
    assert not is_error


def test_a_rule_for_effects_is_told_what_the_tool_says() -> None:
    def paid(arguments: Any, answer: Plain) -> Effect | None:
        assert isinstance(answer, dict)
        return None if answer["repeated"] else Effect("refund", {"order": arguments["order"]})

    async def twice(client: Any) -> Any:
        return [await pay(client), await pay(client)]

    assert len(ran(target_of(twice, effects={"refund": paid})).trace.effects) == 1


def test_a_tool_that_fails_by_itself_is_a_failure_in_the_trace_and_a_result_for_the_client() -> None:
    async def fails(client: Any) -> Any:
        return seen(await client.call_tool("refuse", {"order": "A"}))

    trace = ran(target_of(fails)).trace

    assert trace.outcome.message == "(None, ['Error executing tool refuse: no such order: A'], True)"
    assert [step.interface for step in trace.steps if step.failure is not None] == ["service:shop.refuse"]


def test_an_error_of_the_server_is_one_of_the_client_and_in_a_replay() -> None:
    async def lost(client: Any) -> Any:
        try:
            return await client.read_resource("policy://none")
        except mcp.MCPError as error:
            return error.code, error.message, error.data

    trace = ran(target_of(lost)).trace

    assert "policy://none" in trace.outcome.message
    failed = trace.steps[-1].failure
    assert failed is not None
    assert "policy://none" in failed.message


def test_tools_resources_and_prompts_are_altered() -> None:
    system = target_of(everything)

    assert "'get_order'" not in ran(system, "tools:shop[1] missing").trace.outcome.message.partition("]")[0]
    assert "30 days" not in ran(system, "retrieval:shop[1] retrieval.empty").trace.outcome.message
    assert "Be kind to Ann." not in ran(system, "prompt:shop[1] prompt.noise").trace.outcome.message


def test_a_handshake_that_fails_fails_for_the_client() -> None:
    trace = ran(target_of(pay, mode="legacy"), "service:shop[1] timeout").trace

    assert trace.ending is Ending.CRASHED
    assert not WORLD


def test_a_model_behind_a_tool_of_the_server_is_inside_the_tools_crossing() -> None:
    @target
    async def desk(_: Task, run: Run) -> Outcome:
        model = run.model("judge", lambda _operation, **_arguments: {"content": "fine", "tool_calls": []})

        async def judge() -> str:
            return str((await model("complete", messages=[]))["content"])

        server = servers.MCPServer("shop")
        server.tool()(judge)
        async with mcp.Client(through_doors(run, server, "shop")) as client:
            return Outcome(str(seen(await client.call_tool("judge", {}))[1]), success=True)

    trace = ran(desk).trace

    assert {step.interface: bool(step.inside) for step in trace.steps} == {
        "service:shop": False, "service:shop.judge": False, "tools:shop": False, "model:judge": True,
    }  # fmt: skip


def test_the_snippet_of_the_readme_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    async def answer(wish: str, client: Any) -> str:
        return f"{wish} {(await pay(client))[0]}"

    page = (Path(__file__).parents[2] / "README.md").read_text()
    found = re.search(r"^```python title=frameworks/with_mcp\.py\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert found is not None
    mine: Any = ModuleType("my_agents")
    mine.answer, mine.make_server = answer, shop
    monkeypatch.setitem(sys.modules, "my_agents", mine)
    names: dict[str, Any] = {}
    exec(found[1], names)

    trace = execute(Experiment(names["desk"], names["desk"].task("late"), SystemConfig(), seed=1), EMPTY).trace

    assert trace.outcome.message == "My parcel A-17 never came. {'paid': 'A', 'repeated': False}"
    assert [effect.kind for effect in trace.effects] == ["shop.refund.call"]


# ---------------------------------------------------------------------- bad input


def test_an_unknown_tool_makes_the_run_worthless_and_names_the_nearest() -> None:
    with pytest.raises(TargetError, match=r"MCP server 'shop': .*unknown tool 'refunds'. Did you mean 'refund'"):
        ran(target_of(everything, effects={"refunds": effect("order")}))


def test_rules_for_failed_calls_and_conditions_look_at_what_a_tool_says() -> None:
    rules = {"refund": effect("order")}
    text = {"refund": effect("order", when={"json": "paid", "is": "A-18"})}

    assert ran(target_of(pay, effects=rules)).trace.effects
    assert not ran(
        target_of(pay, effects=rules, failed_when={"refund": {"json": "repeated", "is": False}})
    ).trace.effects
    assert not ran(target_of(pay, effects=text)).trace.effects


def test_what_is_no_server_is_refused() -> None:
    with pytest.raises(TargetError, match="17 is no MCP server"):
        through_doors(UntracedRun(Task("default")), 17)
    with pytest.raises(TargetError, match="'refund' is declared read-only and has effects"):
        through_doors(UntracedRun(Task("default")), shop, effects={"refund": effect()}, read_only=["refund"])


def test_a_process_in_virtual_time_is_refused_with_the_remedy() -> None:
    command = mcp.StdioServerParameters(command=sys.executable, args=["-c", "pass"])
    with pytest.raises(TargetError, match=r"needs real time. Say so: @chaosagent.target\(clock='wall'\)"):
        ran(target_of(pay, command))
