"""What a crew remembers and looks up crosses doors."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import pytest

from chaosagent.adapters.crewai import through_doors
from chaosagent.execution.exact_replay import serve
from chaosagent.execution.execute import Execution, Experiment, execute
from chaosagent.faults.dry import unpack_request
from chaosagent.faults.schedule import EMPTY, Schedule, parse
from chaosagent.targets.target import Run, Target, target
from chaosagent.vocabulary import Outcome, SystemConfig, Task

pytestmark = [
    pytest.mark.crewai,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("crewai") is None, reason="needs the extra crewai"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
if find_spec("crewai") is not None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from crewai import Agent, Crew
        from crewai import Task as Work
        from crewai.knowledge.knowledge import Knowledge
        from crewai.knowledge.storage.base_knowledge_storage import BaseKnowledgeStorage
        from crewai.llms.base_llm import BaseLLM

        from chaosagent.experiments.crewai.notebook import open_memory

    class Scripted(BaseLLM):
        """A model that answers by a function of its messages."""

        rule: Any = None

        def supports_function_calling(self) -> bool:
            return True

        def get_input_tokens_count(self, *_: Any, **__: Any) -> int:
            return 0

        def call(self, messages: Any, *_: Any, **__: Any) -> Any:
            return self.rule(messages)

    class Shelf(BaseKnowledgeStorage):
        """Knowledge that finds the same two passages always."""

        collection_name: str = "handbook"

        def search(self, *_: Any, **__: Any) -> Any:
            return [
                {"id": "1", "content": "Refunds take five days.", "metadata": {"page": 3}, "score": 0.9},
                {"id": "2", "content": "Parcels take two.", "metadata": {}, "score": 0.8},
            ]

        async def asearch(self, *_: Any, **__: Any) -> Any:
            return self.search()

        def save(self, documents: list[str]) -> None:
            """Keep nothing."""

        async def asave(self, documents: list[str]) -> None:
            """Keep nothing."""

        def reset(self) -> None:
            """Forget nothing."""

        async def areset(self) -> None:
            """Forget nothing."""


SAYS = "Your money is on its way."


def _crew(rule: Callable[[Any], Any], **more: Any) -> Any:
    model = Scripted(model="scripted", rule=rule)
    agent = Agent(role="Clerk", goal="help", backstory="You are kind.", llm=model)
    work = Work(description="Answer about A-17: {wish}", expected_output="an answer", agent=agent)
    return Crew(agents=[agent], tasks=[work], **more)


def _reader(messages: Any) -> str:
    """Say the money is on its way, and whether that was known before."""
    asked = str(messages[-1]["content"])
    return SAYS if "A-17 was refunded." not in asked else f"I know. {SAYS}"


def _target(make: Callable[[], Any], *, is_native: bool = False) -> Target:
    @target
    async def desk(_: Task, run: Run) -> Outcome:
        crew = through_doors(run, make())
        said = []
        for wish in ("pay", "and?"):
            result = await (crew.akickoff if is_native else crew.kickoff_async)(inputs={"wish": wish})
            said.append(str(result.raw))
        return Outcome("; ".join(said), success=True)

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


def _remembering() -> Any:
    return _crew(_reader, memory=open_memory())


@pytest.mark.parametrize("is_native", [False, True])
def test_what_is_remembered_is_recalled_through_the_door_of_the_memory(*, is_native: bool) -> None:
    execution = _executed(_target(_remembering, is_native=is_native))

    assert execution.trace.outcome.message == f"{SAYS}; I know. {SAYS}"
    assert _hooks(execution)[:6] == [
        "tools:Clerk[1]@Clerk",
        "memory:crew[1]@Clerk",
        "model:scripted[1]@Clerk",
        "model:memory-model[1]@Clerk",
        "memory:crew[2]@Clerk",
        "memory:crew[3]@Clerk",
    ]
    recalled = unpack_request(execution.trace.steps[5].request)
    assert (recalled.operation, recalled.arguments["query"]) == ("read", "Answer about A-17: and?")


@pytest.mark.parametrize("delta", ["memory:crew[2]@Clerk lost_update", "memory:crew[3]@Clerk stale_read"])
def test_what_is_lost_or_read_stale_is_not_known(delta: str) -> None:
    assert _executed(_target(_remembering), delta).trace.outcome.message == f"{SAYS}; {SAYS}"


def test_a_note_of_somebody_else_reaches_the_model() -> None:
    execution = _executed(_target(_remembering), "memory:crew[3]@Clerk untrusted_note")

    asked = next(step for step in execution.trace.steps if str(step.hook) == "model:scripted[2]@Clerk")
    assert "kestrel-4711" in str(unpack_request(asked.request).arguments["messages"])


def test_the_tools_of_a_memory_cross_as_memory() -> None:
    def rule(messages: Any) -> Any:
        told = [str(one["content"]) for one in messages if one["role"] == "tool"]
        if len(told) == 2:
            return " | ".join(told)
        name, arguments = [
            ("save_to_memory", {"contents": ["A-17 was refunded."]}),
            ("search_memory", {"queries": ["A-17"]}),
        ][len(told)]
        return [{"id": "x", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}]

    system = _target(lambda: _crew(rule, memory=open_memory()))

    nominal = _executed(system)
    lost = _executed(system, "memory:crew[2]@Clerk lost_update")

    assert "Found memories:\n- (score=" in nominal.trace.outcome.message
    assert not [hook for hook in _hooks(nominal) if hook.startswith("service:")]
    assert lost.trace.outcome.message.startswith("Saved to memory (scope=/, importance=0.5). | No relevant memories")


def test_a_part_of_a_memory_crosses_as_the_memory_does() -> None:
    execution = _executed(_target(lambda: _crew(_reader, memory=open_memory().scope("/desk"))))

    recalled = unpack_request(execution.trace.steps[1].request)
    assert recalled.arguments["key"] == "desk"
    assert "memory:crew[2]@Clerk" in _hooks(execution)


def test_a_memory_that_cannot_be_written_ends_nothing() -> None:
    def make() -> Any:
        memory = open_memory()
        memory._storage = _Failing(memory._storage)
        return _crew(_reader, memory=memory)

    assert _executed(_target(make)).trace.outcome.message == f"{SAYS}; {SAYS}"


class _Failing:
    """A storage that keeps nothing."""

    def __init__(self, storage: Any) -> None:
        self._storage = storage

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)

    def save(self, _: Any) -> None:
        raise OSError("the disk is full")


@pytest.mark.parametrize("is_native", [False, True])
def test_knowledge_is_a_retriever(*, is_native: bool) -> None:
    def rule(messages: Any) -> str:
        asked = str(messages[-1]["content"])
        return f"five: {'five days' in asked}, two: {'take two' in asked}"

    def make() -> Any:
        crew = _crew(rule)
        crew.knowledge = Knowledge(collection_name="handbook", sources=[], storage=Shelf())
        return crew

    system = _target(make, is_native=is_native)
    nominal = _executed(system)
    empty = _executed(system, "retrieval:handbook[1]@Clerk empty")

    assert nominal.trace.outcome.message == "five: True, two: True; five: True, two: True"
    assert empty.trace.outcome.message == "five: False, two: False; five: True, two: True"


def test_the_memory_itself_stays_as_it_is() -> None:
    memory = open_memory()
    before = vars(memory).copy()
    recall = type(memory).recall

    _executed(_target(lambda: _crew(_reader, memory=memory)))

    assert vars(memory) == before
    assert type(memory).recall is recall
