"""What the proxy costs: calls of a model's API over HTTP, straight to a server and through the proxy.

Run: python -m chaosagent.experiments.benchmarks.proxy

The server is in the same process and on the same loop as the client and the proxy, and its answer is ready, so that
hardly anything but HTTP, the proxy and the doors takes time. Real time, with calls one after the other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from chaosagent.clock import monotonic
from chaosagent.execution.execute import Experiment, execute
from chaosagent.execution.untraced import UntracedRun
from chaosagent.experiments.benchmarks.measuring import machine, medians, table
from chaosagent.extras import require
from chaosagent.faults.schedule import EMPTY
from chaosagent.proxy.concurrency import SECONDS
from chaosagent.proxy.proxy import Backends, Proxy
from chaosagent.proxy.server import Connections, bound_socket, serving
from chaosagent.targets.target import Run, Target, target
from chaosagent.vocabulary import Outcome, SystemConfig, Task

CALLS = 50
BODY = {"model": "m", "messages": [{"role": "user", "content": "Where is A-17?"}]}
DIRECT = "straight to the server"


def conversation(*, through_proxy: bool, streaming: bool = False, together_seconds: float = 0.0) -> Target:
    """Return a target that asks a server on loopback, through the proxy or not."""

    @target(clock="wall")
    async def asking(_: Task, run: Run) -> Outcome:
        responses = require("starlette.responses", extra="proxy", needed_by="this benchmark")
        httpx = require("httpx", extra="proxy", needed_by="this benchmark")
        message = {"role": "assistant", "content": "It is lost."}
        answer = {"id": "c", "model": "m", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}

        async def server(scope: Any, receive: Any, send: Any) -> None:
            while (await receive()).get("more_body"):
                pass
            await responses.JSONResponse(answer)(scope, receive, send)

        async def ask(base: str) -> None:
            async with httpx.AsyncClient(trust_env=False, verify=False) as client:
                for _ in range(CALLS):
                    body = {**BODY, "stream": True} if streaming else BODY
                    (await client.post(f"{base}/chat/completions", json=body)).raise_for_status()

        bound = bound_socket(0)
        address = f"http://127.0.0.1:{bound.getsockname()[1]}"
        async with serving(server, Connections(), bound):
            if not through_proxy:
                await ask(f"{address}/v1")
                return Outcome()
            behind = Backends({"openai": address}, together_seconds=together_seconds)
            async with Proxy(run, behind).open() as variables:
                await ask(variables["OPENAI_BASE_URL"])
        return Outcome()

    return asking


def main() -> None:
    """Measure and print."""
    whole, streamed = conversation(through_proxy=True), conversation(through_proxy=True, streaming=True)
    waiting = conversation(through_proxy=True, together_seconds=SECONDS)
    rows = {
        DIRECT: _traced(conversation(through_proxy=False)),
        "proxy, in earnest": _in_earnest(whole),
        "proxy, traced": _traced(whole),
        "proxy, traced, streamed": _traced(streamed),
        f"proxy, traced, waiting {SECONDS * 1e3:g} ms for calls at the same time": _traced(waiting),
    }
    print(machine())
    print(table(medians(rows, rounds=7, clock=monotonic), unit="ms a call", scale=1e3, baseline=DIRECT))


def _traced(system: Target) -> Callable[[], int]:
    experiment = Experiment(system, system.task("default"), SystemConfig(), seed=1)

    def once() -> int:
        execute(experiment, EMPTY)
        return CALLS

    return once


def _in_earnest(system: Target) -> Callable[[], int]:
    def once() -> int:
        asyncio.run(system.run(system.task("default"), UntracedRun(system.task("default"))))
        return CALLS

    return once


if __name__ == "__main__":
    main()
