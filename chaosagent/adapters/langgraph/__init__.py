"""Agents of LangChain and graphs of LangGraph.

    from chaosagent.adapters.langgraph import LangGraphDoors

    @chaosagent.target(tasks=[...])
    async def desk(task, run):
        doors = LangGraphDoors(run, effects={"refund": chaosagent.effect("order")}, read_only=["get_order"])
        agent = doors.create_agent(model, [get_order, refund], store=store)   # instead of create_agent(...)
        answer = await agent.ainvoke({"messages": [("user", task.input["question"])]})
        return answer["messages"][-1].text

In a graph of one's own the same doors are put in place one by one: `doors.model(model)`, `doors.tools([...])`,
`doors.store(...)`, `doors.checkpointer(...)`; an agent that is made elsewhere takes `middleware=[doors.middleware()]`.

What crosses: every attempt of a model (`model:chat`, `complete`), the tools that it is told of (`tools:toolbox`, once
for each list), every tool (`service:<tool>`, `call`), every operation of a store (`memory:store`) and of a checkpointer
(`memory:checkpoints`), and work handed over by a tool that is declared in `handoffs` (`message:handoffs`). A tool fails
inside of what LangChain puts around its function, a model inside of what it puts around a provider: arguments are
validated before, and `handle_tool_errors`, `ToolRetryMiddleware` and their like see what they would see of a failure.

What had to be pinned:

* Ids of tool calls are given here, `call-1`, `call-2`, ... within a conversation: providers draw them. Ids of messages,
  checkpoints, tasks and interrupts cross under names by first appearance, or not at all.
* Tools that are plain functions run in threads, as LangGraph does it, but in a study one after the other, in the order
  of the model's message. Asynchronous ones run at the same time.
* `agent.invoke` belongs into a thread (`asyncio.to_thread`), with `{"max_concurrency": 1}`: without it, LangGraph
  starts parallel tools in threads of its own, in an order that depends on chance.
* Tokens do not stream: an answer crosses as a whole.
* Times of items of a store are those of the run's clock, and versions of channels are counted.
"""

from __future__ import annotations

from chaosagent.extras import require, require_version

EXTRA, NEEDED_BY = "langgraph", "an agent of LangGraph"

for _package, _lowest, _below in (("langgraph", "1.2.22", "2"), ("langchain", "1.4.7", "2")):
    require_version(_package, lowest=_lowest, below=_below, extra=EXTRA, needed_by=NEEDED_BY)
require("langchain.agents", extra=EXTRA, needed_by=NEEDED_BY)

from chaosagent.adapters.langgraph.doors import LangGraphDoors  # noqa: E402  # not before it is known to be there

__all__ = ["LangGraphDoors"]
