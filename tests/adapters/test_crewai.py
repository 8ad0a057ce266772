"""Crews of CrewAI cross doors, and stay what they are."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from chaosagent.adapters.crewai import through_doors
from chaosagent.effects.rule import effect
from chaosagent.execution.exact_replay import serve
from chaosagent.execution.execute import Execution, Experiment, execute
from chaosagent.execution.untraced import UntracedRun
from chaosagent.faults.dry import unpack_request
from chaosagent.faults.schedule import EMPTY, Schedule, parse
from chaosagent.targets.target import Run, Target, target
from chaosagent.vocabulary import Outcome, SystemConfig, Task

pytestmark = [
    pytest.mark.crewai,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("crewai") is None, reason="needs the extra crewai"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::pydantic.warnings.PydanticDeprecatedSince20"),
]
if find_spec("crewai") is not None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import httpx
        import openai
        from crewai import Agent, Crew, Process
        from crewai import Task as Work
        from crewai.llms.base_llm import BaseLLM
        from crewai.tools import BaseTool, tool
        from crewai.tools.tool_failure import ToolFailure
        from pydantic import BaseModel

    class Scripted(BaseLLM):
        """A model that answers by a function of its messages; with functions, or in CrewAI's text form."""

        rule: Any = None
        functions: bool = True

        def supports_function_calling(self) -> bool:
            return self.functions

        def get_input_tokens_count(self, *_: Any, **__: Any) -> int:
            return 0

        def call(self, messages: Any, *_: Any, **__: Any) -> Any:
            return self.rule(messages)

        async def acall(self, messages: Any, *_: Any, **__: Any) -> Any:
            return self.rule(messages)

    class Note(BaseModel):
        """What a task is to bring."""

        order: str
        amount: int

    class Charge(BaseTool):
        """A tool as a class, that fails without an exception."""

        name: str = "Charge card"
        description: str = "Charge a card."

        def _run(self, order: str) -> Any:
            return ToolFailure(message=f"no card for {order}", code="no_card")


EFFECTS = {"refund": effect("order")}
READS = ("get_order", "get_note")


def get_order(order: str) -> str:
    """Read an order."""
    return f"order {order} costs 40"


async def get_note(order: str) -> str:
    """Read the note on an order."""
    return f"no note on {order}"


def refund(order: str, amount: int) -> str:
    """Pay a customer back."""
    return f"refunded {amount} for {order}"


def _calls(*calls: tuple[str, dict[str, Any]]) -> Any:
    made = [{"name": name, "arguments": json.dumps(arguments)} for name, arguments in calls]
    return [{"id": f"drawn-{id(call)}", "type": "function", "function": call} for call in made]


def _told(messages: Any) -> dict[str, str]:
    """Return what the tools said last, by name."""
    return {str(one["name"]): str(one["content"]) for one in messages if one["role"] == "tool"}


def _clerk(messages: Any) -> Any:
    """Look twice, refund, and say what came of it."""
    told = _told(messages)
    if not told:
        return _calls(("get_order", {"order": "7"}), ("get_note", {"order": "7"}))
    if "refund" not in told:
        return _calls(("refund", {"order": "7", "amount": 40}))
    return told["refund"]


def _writer(messages: Any) -> str:
    """Refund, in text."""
    seen = [str(one["content"]) for one in messages if one["role"] == "assistant"]
    if not seen:
        return 'Thought: pay\nAction: refund\nAction Input: {"order": "7", "amount": 40}'
    return f"Thought: done\nFinal Answer: {seen[-1].partition('Observation: ')[2]}"


def _agent(
    rule: Callable[[Any], Any] = _clerk,
    tools: Any = (get_order, get_note, refund),
    *,
    functions: bool = True,
    **more: Any,
) -> Any:
    made = [one if isinstance(one, BaseTool) else tool(one) for one in tools]
    model = Scripted(model="scripted", rule=rule, functions=functions)
    said = {"role": "Clerk", "goal": "help", "backstory": "You are kind.", "llm": model, "tools": made}
    return Agent(**(said | more))


def _crew(*agents: Any, **more: Any) -> Any:
    listed = list(agents) or [_agent()]
    work = Work(description="Refund order 7.", expected_output="what was done", agent=listed[0])
    return Crew(**({"agents": listed, "tasks": [work]} | more))


def _target(crew: Any, *, is_native: bool = False, **said: Any) -> Target:
    @target
    async def desk(_: Task, run: Run) -> Outcome:
        made = through_doors(run, crew, **said)
        result = await (made.akickoff() if is_native else made.kickoff_async())
        return Outcome(str(result.raw), success=True)

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


def _links(execution: Execution) -> list[tuple[str, str]]:
    listed = [*(link for step in execution.trace.steps for link in step.links), *execution.trace.links]
    return [(link.source, link.target) for link in listed]


# ---------------------------------------------------------------------- what crosses


@pytest.mark.parametrize("is_native", [False, True])
def test_models_tools_and_their_list_become_steps_in_the_order_of_asking(*, is_native: bool) -> None:
    execution = _executed(_target(_crew(), is_native=is_native, effects=EFFECTS, read_only=READS))

    assert _hooks(execution) == [
        "tools:Clerk[1]@Clerk",
        "model:scripted[1]@Clerk",
        "service:get_order[1]@Clerk",
        "service:get_note[1]@Clerk",
        "model:scripted[2]@Clerk",
        "service:refund[1]@Clerk",
        "model:scripted[3]@Clerk",
    ]
    assert execution.trace.outcome.message == "refunded 40 for 7"
    assert [(one.kind, one.identity) for one in execution.trace.effects] == [("refund.call", {"order": "7"})]


def test_traces_are_equal_in_every_process_and_nothing_is_sent_anywhere() -> None:
    code = (
        "import socket, runpy, sys\n"
        "def connect(self, address): raise SystemExit(f'connects to {address}')\n"
        "socket.socket.connect = connect\n"
        f"module = runpy.run_path({str(Path(__file__))!r})\n"
        "system = module['_target'](module['_crew'](), effects=module['EFFECTS'])\n"
        "print('digest', module['_executed'](system).trace.digest)\n"
    )
    printed = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            timeout=600,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]

    digests = {line for text in printed for line in text.splitlines() if line.startswith("digest ")}
    assert len(digests) == 1


def test_a_study_is_not_told_to_the_makers_and_the_environment_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    from crewai.telemetry.telemetry import Telemetry

    monkeypatch.delenv("CREWAI_DISABLE_TELEMETRY", raising=False)
    monkeypatch.setenv("CREWAI_DISABLE_VERSION_CHECK", "false")
    seen: list[bool] = []

    def look(order: str) -> str:
        """Look."""
        seen.append(Telemetry()._is_telemetry_disabled())
        return order

    rule = lambda messages: "done" if _told(messages) else _calls(("look", {"order": "7"}))  # noqa: E731
    before = dict(os.environ)

    execute(Experiment(_target(_crew(_agent(rule, [look]))), Task("default"), SystemConfig(), seed=1), EMPTY)

    assert seen == [True]
    assert dict(os.environ) == before


def test_a_delay_takes_virtual_time_and_a_target_may_have_a_time_limit() -> None:
    crew = _crew()

    @target
    async def desk(_: Task, run: Run) -> Outcome:
        try:
            result = await asyncio.wait_for(through_doors(run, crew).kickoff_async(), 30.0)
        except TimeoutError:
            return Outcome(f"late at {run.clock.now():g}", success=False)
        return Outcome(f"{result.raw} at {run.clock.now():g}", success=True)

    assert _executed(desk).trace.outcome.message == "refunded 40 for 7 at 0"
    late = _executed(desk, "service:refund[1]@Clerk delay(seconds=20)")
    assert late.trace.outcome.message == "refunded 40 for 7 at 20"
    assert _executed(desk, "service:refund[1]@Clerk delay(seconds=60)").trace.outcome.message == "late at 30"


@pytest.mark.parametrize("is_native", [False, True])
def test_an_agent_over_its_time_limit_is_told_so_when_its_work_is_done(*, is_native: bool) -> None:
    system = _target(_crew(_agent(max_execution_time=30)), is_native=is_native, effects=EFFECTS)

    late = _executed(system, "service:refund[1]@Clerk delay(seconds=60)")

    assert _executed(system, "service:refund[1]@Clerk delay(seconds=20)").trace.outcome.success
    assert late.trace.ending_detail.startswith("TimeoutError: Task 'Refund order 7.' execution timed out after 30")
    assert len(late.trace.effects) == 1


def test_a_tool_that_fails_is_called_again_by_crewai_before_the_model_hears_of_it() -> None:
    system = _target(_crew(_agent(_writer, functions=False)), effects=EFFECTS)

    execution = _executed(system, "service:refund[1]@Clerk lost_response")

    assert _hooks(execution)[1:5] == [
        "model:scripted[1]@Clerk",
        "service:refund[1]@Clerk",
        "service:refund[1.1]@Clerk",
        "model:scripted[2]@Clerk",
    ]
    assert len(execution.trace.effects) == 2


def test_the_text_of_a_failure_is_told_the_model_that_calls_functions() -> None:
    execution = _executed(_target(_crew()), "service:refund[1]@Clerk timeout")

    assert execution.trace.outcome.message.startswith("Error executing tool: ")
    assert _landed(execution) == ["landed"]


def test_an_altered_result_reaches_the_model() -> None:
    execution = _executed(_target(_crew()), "service:refund[1]@Clerk dropped_response")

    assert _landed(execution) == ["landed"]
    assert execution.trace.outcome.message != "refunded 40 for 7"


def test_a_failure_that_a_tool_tells_is_one_also_in_a_replay() -> None:
    rule = lambda messages: _told(messages).get("charge_card") or _calls(("charge_card", {"order": "7"}))  # noqa: E731
    agent = _agent(rule, [Charge()], tool_failure_policy="raise")

    told = _executed(_target(_crew(_agent(rule, [Charge()]))))
    raised = _executed(_target(_crew(agent)))

    assert told.trace.outcome.message == "no card for 7 (code: no_card)"
    assert "ToolExecutionFailedError" in raised.trace.ending_detail


def test_a_refusal_of_the_model_is_the_answer_and_an_empty_answer_begins_the_task_anew() -> None:
    system = _target(_crew(), effects=EFFECTS)

    refused = _executed(system, "model:scripted[2]@Clerk refusal")
    empty = _executed(system, "model:scripted[3]@Clerk empty")

    assert refused.trace.outcome.message == "I'm sorry, but I can't help with that."
    assert (empty.trace.outcome.message, len(empty.trace.effects)) == ("refunded 40 for 7", 2)


@pytest.mark.parametrize("kind", ["unknown_tool", "truncated_json"])
def test_a_malformed_call_is_answered_by_crewai(kind: str) -> None:
    execution = _executed(_target(_crew()), f"model:scripted[1]@Clerk malformed_tool_call(kind={kind})")

    assert "service:get_order[1]@Clerk" not in _hooks(execution)
    assert _landed(execution) == ["landed"]


def test_a_missing_tool_is_not_offered_and_a_misleading_description_is_shown() -> None:
    system = _target(_crew())

    missing = _executed(system, "tools:Clerk[1]@Clerk missing(index=3)")
    misled = _executed(system, "tools:Clerk[1]@Clerk misleading")

    asked = unpack_request(missing.trace.steps[1].request).arguments
    assert asked["tools"] == ["get_order", "get_note"]
    assert "refund" not in [step.interface for step in missing.trace.steps]
    nominal = unpack_request(_executed(system).trace.steps[1].request).arguments
    assert unpack_request(misled.trace.steps[1].request).arguments["described"] != nominal["described"]


def test_a_model_that_is_asked_too_often_is_asked_again_after_a_virtual_second() -> None:
    asked: list[int] = []

    def busy(_: Any) -> Any:
        if not asked:
            asked.append(1)
            response = httpx.Response(429, request=httpx.Request("POST", "https://model.invalid"))
            raise openai.RateLimitError("slow down", response=response, body=None)
        return "done"

    crew = _crew(_agent(busy, []))

    @target
    async def desk(_: Task, run: Run) -> Outcome:
        asked.clear()
        result = await through_doors(run, crew).kickoff_async()
        return Outcome(f"{result.raw} at {run.clock.now():g}", success=True)

    execution = _executed(desk)

    assert execution.trace.outcome.message == "done at 1"
    assert _hooks(execution) == ["model:scripted[1]@Clerk", "model:scripted[1.1]@Clerk"]


class _LatePool(ThreadPoolExecutor):
    """A pool with one thread, which after its first call begins no other before somebody shuts the pool down."""

    def __init__(self, max_workers: int) -> None:
        super().__init__(min(1, max_workers))
        self._maker, self._over = threading.get_ident(), threading.Event()

    def submit(self, *args: Any, **kwargs: Any) -> Any:
        future = super().submit(*args, **kwargs)
        future.add_done_callback(self._pause)
        return future

    def _pause(self, _: object) -> None:
        assert threading.get_ident() == self._maker or self._over.wait(60)

    def shutdown(self, *args: Any, **kwargs: Any) -> None:
        super().shutdown(*args, **kwargs)
        self._over.set()


_POOL = "ThreadPoolExecutor"


@pytest.mark.parametrize("count", [3, 20])  # threads are at most 8
@pytest.mark.parametrize(
    ("name", "timing"),
    [(_POOL, ThreadPoolExecutor), (_POOL, _LatePool), ("as_completed", lambda futures: reversed(list(futures)))],
    ids=["as it comes", "late to begin", "last seen first"],
)
def test_calls_that_are_asked_for_at_once_are_made_in_order_and_all_of_them_and_the_first_failure_is_told(
    monkeypatch: pytest.MonkeyPatch, name: str, timing: Any, count: int
) -> None:
    monkeypatch.setattr(f"crewai.agents.agent_executor.{name}", timing)
    done: list[str] = []

    def one(order: str) -> str:
        """Do one thing."""
        done.append(f"one {order}")
        return "1"

    def two(order: str) -> str:
        """Do another thing."""
        done.append(f"two {order}")
        raise ValueError(f"not two of {order}")

    calls = [(("two", "one")[place % 2], {"order": f"{place}."}) for place in range(count)]
    rule = lambda messages: "done" if _told(messages) else _calls(*calls)  # noqa: E731
    system = _target(_crew(_agent(rule, [one, two], tool_failure_policy="raise")))
    for _ in range(5):
        done.clear()
        execution = execute(Experiment(system, Task("default"), SystemConfig(), seed=1), EMPTY)
        assert done == [f"{called} {arguments['order']}" for called, arguments in calls]
        assert "ToolExecutionFailedError" in execution.trace.ending_detail
        assert "not two of 0." in execution.trace.ending_detail


def test_answers_link_to_what_they_were_made_from() -> None:
    links = _links(_executed(_target(_crew())))

    assert ("service:refund[1]@Clerk", "model:scripted[2]@Clerk") in links
    assert ("model:scripted[2]@Clerk", "service:get_note[1]@Clerk") in links
    assert links[-1] == ("model:scripted[3]@Clerk", "service:refund[1]@Clerk")


def test_a_task_with_a_form_brings_an_object_and_its_model_has_a_door() -> None:
    agent = _agent(lambda _: '{"order": "7", "amount": 40}', [])
    work = Work(description="Refund order 7.", expected_output="a note", agent=agent, output_pydantic=Note)
    crew = Crew(agents=[agent], tasks=[work])

    @target
    async def desk(_: Task, run: Run) -> Outcome:
        result = await through_doors(run, crew).kickoff_async()
        return Outcome(repr(result.pydantic), success=True)

    assert _executed(desk).trace.outcome.message == "Note(order='7', amount=40)"


# ---------------------------------------------------------------------- hand-offs


def _handing_over(coworker: str = "Accountant") -> Any:
    def front(messages: Any) -> Any:
        told = _told(messages)
        if "delegate_work_to_coworker" in told:
            return told["delegate_work_to_coworker"] or "nobody answers"
        work = {"task": "Refund order 7.", "context": "It is lost.", "coworker": coworker}
        return _calls(("delegate_work_to_coworker", work))

    accountant = _agent(
        lambda messages: f"booked: {_clerk(messages)}" if "refund" in _told(messages) else _clerk(messages)
    )
    accountant.role = "Accountant"
    return _crew(_agent(front, [], allow_delegation=True), accountant)


def test_work_that_is_handed_over_is_a_message_to_another_agent() -> None:
    system = _target(_handing_over(), effects=EFFECTS)

    nominal = _executed(system)
    twice = _executed(system, "message:handoffs[1]@Clerk duplicate")
    lost = _executed(system, "message:handoffs[1]@Clerk drop")

    assert nominal.trace.outcome.message == "booked: refunded 40 for 7"
    assert "service:refund[1]@Accountant" in _hooks(nominal)
    assert [len(execution.trace.effects) for execution in (nominal, twice, lost)] == [1, 2, 0]
    assert lost.trace.outcome.message == "nobody answers"


def test_work_for_somebody_who_is_not_there_is_answered_by_crewai() -> None:
    answer = _executed(_target(_handing_over("Nobody"))).trace.outcome.message

    assert "coworker mentioned not found" in answer


def test_a_manager_hands_over_through_the_same_door() -> None:
    def manager(messages: Any) -> Any:
        told = _told(messages)
        if told:
            return told["delegate_work_to_coworker"]
        work = {"task": "Refund order 7.", "context": "It is lost.", "coworker": "Clerk"}
        return _calls(("delegate_work_to_coworker", work))

    crew = _crew(process=Process.hierarchical, manager_llm=Scripted(model="managing", rule=manager))

    execution = _executed(_target(crew, effects=EFFECTS))

    assert execution.trace.outcome.message == "refunded 40 for 7"
    assert any(hook.startswith("message:handoffs[1]@") for hook in _hooks(execution))
    assert any(hook.startswith("model:managing[1]@") for hook in _hooks(execution))


def _two_tasks(*, is_async: bool = False) -> Any:
    first = _agent(lambda _: "the parcel is lost", [], role="Scout")
    second = _agent(lambda messages: f"told: {'lost' in str(messages[-1]['content'])}", [], role="Judge")
    look = Work(description="Look.", expected_output="facts", agent=first, async_execution=is_async)
    decide = Work(description="Decide.", expected_output="a word", agent=second, context=[look])
    return Crew(agents=[first, second], tasks=[look, decide])


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("is_native", [False, True])
def test_what_a_task_brings_goes_to_the_next_one_through_a_door(*, is_async: bool, is_native: bool) -> None:
    system = _target(_two_tasks(is_async=is_async), is_native=is_native)

    nominal, lost = _executed(system), _executed(system, "message:context[1] drop")

    assert _hooks(nominal) == ["model:scripted[1]@Scout", "message:context[1]", "model:scripted[1]@Judge"]
    assert (nominal.trace.outcome.message, lost.trace.outcome.message) == ("told: True", "told: False")
    assert _links(nominal) == [
        ("message:context[1]", "model:scripted[1]@Scout"),
        ("model:scripted[1]@Judge", "message:context[1]"),
    ]


# ---------------------------------------------------------------------- beside a run


def test_the_same_crew_works_with_doors_and_no_tracing_and_without_doors() -> None:
    crew = _crew()
    system = _target(crew, effects=EFFECTS)

    with_doors = asyncio.run(system.run(system.task("default"), UntracedRun(system.task("default"))))
    without = asyncio.run(crew.kickoff_async())

    assert with_doors.message == without.raw == "refunded 40 for 7"


def test_nothing_is_left_behind() -> None:
    crew = _crew()
    (agent,) = crew.agents
    before = (vars(crew).copy(), vars(agent).copy(), dict(vars(Agent)), dict(vars(Crew)), dict(vars(BaseTool)))

    _executed(_target(crew), "service:refund[1]@Clerk timeout")

    assert (vars(crew), vars(agent), dict(vars(Agent)), dict(vars(Crew)), dict(vars(BaseTool))) == before
    assert crew.tasks[0].output is None


def test_two_runs_at_once_do_not_meet() -> None:
    system = _target(_crew(), effects=EFFECTS)
    experiment = Experiment(system, system.task("default"), SystemConfig(), seed=1)
    alone = execute(experiment, EMPTY).trace.digest

    async def many() -> list[str]:
        runs = (asyncio.to_thread(lambda: execute(experiment, EMPTY).trace.digest) for _ in range(4))
        return await asyncio.gather(*runs)

    assert asyncio.run(many()) == [alone] * 4


def test_a_crew_may_work_again_and_for_each_of_several_inputs() -> None:
    agent = _agent(lambda messages: str(messages[-1]["content"]).partition("Task: ")[2].partition("\n")[0], [])
    crew = Crew(agents=[agent], tasks=[Work(description="Say {what}.", expected_output="it", agent=agent)])

    @target
    async def desk(_: Task, run: Run) -> Outcome:
        made = through_doors(run, crew)
        said = [(await made.kickoff_async(inputs={"what": what})).raw for what in ("one", "two")]
        return Outcome(str(said), success=True)

    execution = _executed(desk)

    assert execution.trace.outcome.message == "['Say one.', 'Say two.']"
    assert _hooks(execution) == ["model:scripted[1]@Clerk", "model:scripted[2]@Clerk"]


def test_the_readme_shows_how(monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    found = re.search(r"^```python title=frameworks/with_crewai\.py\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert found is not None
    mine: Any = ModuleType("my_agents")
    mine.make_crew = _crew
    monkeypatch.setitem(sys.modules, "my_agents", mine)
    names: dict[str, Any] = {}
    exec(compile(found[1], "README.md", "exec"), names)

    trace = execute(Experiment(names["desk"], names["desk"].task("late"), SystemConfig(), 1), EMPTY).trace

    assert trace.outcome.message == "refunded 40 for 7"
    assert "service:refund" in [step.interface for step in trace.steps]
    assert len([line for line in found[1].splitlines() if line]) <= 12
