"""Agents of LangChain and graphs of LangGraph.

    from chaosagent.adapters.langgraph import through_doors

    @chaosagent.target(tasks=[...])
    async def desk(task, run):
        doors = through_doors(run, effects={"refund": chaosagent.effect("order")}, read_only=["get_order"])
        agent = doors.create_agent(model, [get_order, refund], store=store)   # instead of create_agent(...)
        answer = await agent.ainvoke({"messages": [("user", task.input["question"])]})
        return answer["messages"][-1].text

In a graph of one's own the same doors are put in place one by one: `doors.model(model)`, `doors.tools([...])`,
`doors.store(...)`, `doors.checkpointer(...)`, `doors.retriever(...)`, `doors.key_values(...)`; an agent that is made
elsewhere takes `middleware=[doors.middleware()]`.

What crosses: every attempt of a model (`model:chat`, `complete`), the tools that it gets (`tools:toolbox`, once
for each list), every tool (`service:<tool>`, `call`), every operation of a store (`memory:store`) and of a checkpointer
(`memory:checkpoints`), retrievers (`retrieval:<name>`, `search`), LangChain's key-value stores (`memory:<name>`), and
work handed over by a tool that is declared in `handoffs` (`message:handoffs`). A tool fails inside of what LangChain
puts around its function, a model inside of what it puts around a provider: arguments are validated before, and
`handle_tool_errors`, `ToolRetryMiddleware` and their like see what they would see of a failure.

What is retried below the agent, by `ModelRetryMiddleware`, `ToolRetryMiddleware` or a node's `RetryPolicy`, is another
attempt of the same call: `service:refund[1.1]` is the first retry. That is known by the task of the graph and the id of
the call, so `with_retry` outside of a graph makes calls of its own. Retries of a provider's client are behind the door.

A model of LangChain's for OpenAI or Anthropic fails with its client's exceptions, `openai.APITimeoutError` and its
like, also in a replay; other models with Python's `TimeoutError` where one is injected, and with what they raise
themselves.

What had to be pinned:

* Ids of tool calls are given here, `call-1`, `call-2`, ... within a conversation: providers draw them. Ids of messages,
  checkpoints, tasks and interrupts cross under names by first appearance, or not at all.
* Tools that are plain functions run in threads, as LangGraph does it, but in a study one after the other, in the order
  of the model's message. Asynchronous ones run at the same time.
* `agent.invoke` belongs into a thread (`asyncio.to_thread`), with `{"max_concurrency": 1}`: without it, LangGraph
  starts parallel tools in threads of its own, in an order that depends on chance.
* Tokens do not stream: an answer crosses as a whole, and `astream` delivers it behind the door.
* Times of items of a store are those of the run's clock, and versions of channels are counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Unpack

from chaosagent.adapters.core.framework import Framework
from chaosagent.adapters.core.options import ToolOptions, tools_from
from chaosagent.targets.target import Run

if TYPE_CHECKING:
    from chaosagent.adapters.langgraph.doors import LangGraphDoors

__all__ = ["FRAMEWORK", "through_doors"]

_PACKAGES = (("langgraph", "1.2.22", "2"), ("langchain", "1.4.7", "2"))
FRAMEWORK = Framework(__name__, "langgraph", "langchain.agents", _PACKAGES)


def through_doors(
    run: Run,
    *,
    handoffs: Mapping[str, str] | None = None,
    types: Iterable[type] = (),
    **options: Unpack[ToolOptions],
) -> LangGraphDoors:
    """Return the doors of a run, through which the parts of an agent are put; see the top of this module.

    Called in the target, on the run's event loop; the doors are usable from every thread.

    Args:
        run: The run.
        handoffs: Tools that hand work to another agent, by name, with the agent's name: their calls are messages.
        types: Classes of states, or of what tools return, beyond plain data and LangChain's own.
        options: What is known about the tools, see `ToolOptions`. `ToolException` is known and need not stand in
            `errors`.

    Raises:
        MissingExtraError: LangGraph or LangChain is not installed.
        UsageError: One is of a version that nothing was tried with.
        UnknownNameError: There is no such option.
    """
    FRAMEWORK.check()
    from chaosagent.adapters.langgraph.doors import LangGraphDoors

    return LangGraphDoors(run, tools_from(options), handoffs or {}, types)
