"""Unchanged clients of model APIs meet faults through the proxy, and what they see is what the door answered."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable
from typing import Any

import pytest

from chaosagent.errors import TargetError, UsageError
from chaosagent.execution.untraced import UntracedRun
from chaosagent.proxy.proxy import OTHER_ADDRESS, Backends, Proxy
from chaosagent.proxy.server import bound_socket
from chaosagent.proxy.service import Service
from chaosagent.trace.step import StepKind
from chaosagent.vocabulary import Ending, StatusError, Task
from tests.proxy.conftest import Upstream, ask, ask_again

pytestmark = [pytest.mark.proxy, pytest.mark.slow]
httpx = pytest.importorskip("httpx")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

TOOLS = [{"type": "function", "function": {"name": "get", "description": "Look it up.", "parameters": {}}}]
QUESTION = [{"role": "user", "content": "Where is A-17?"}]
"""Asked of every model."""

SECONDS_MAX = 50.0
"""How long a client waits: longer than any machine stands still, shorter than a run may take."""


def answer(request: Any) -> dict[str, Any]:
    """Say what the model is shown, and call a tool."""
    shown = json.dumps(request.get("tools", []))
    return {"content": f"I see {shown}", "tool_calls": [{"name": "get", "arguments": {"order": "A-17"}}]}


SCRIPTED = Backends({"openai": answer, "anthropic": answer})
"""Two models that are one function."""


def _client() -> Any:
    return httpx.AsyncClient(trust_env=False, timeout=SECONDS_MAX)


async def _posted(url: str, body: Any, headers: dict[str, str] | None = None) -> Any:
    async with _client() as client:
        try:
            return await client.post(url, json=body, headers=headers or {})
        except httpx.HTTPError as error:
            return error


def _chat(**extra: Any) -> Callable[[dict[str, str]], Any]:
    body = {"model": "m", "messages": QUESTION, "tools": TOOLS, **extra}
    return lambda variables: _posted(f"{variables['OPENAI_BASE_URL']}/chat/completions", body)


def test_a_model_call_crosses_its_doors_and_ids_are_the_same_in_every_run() -> None:
    first, second = ask(SCRIPTED, _chat()), ask(SCRIPTED, _chat())

    assert [f"{step.interface} {step.operation}" for step in first.trace.steps] == [
        "tools:openai list",
        "model:openai complete",
    ]
    assert first.trace.digest == second.trace.digest
    assert first.told.json()["choices"][0]["message"]["tool_calls"][0]["id"] == "call_1_1"


@pytest.mark.parametrize(
    ("schedule", "status", "said"),
    [
        ("model:openai[1] refusal", 200, "can't help"),
        ("model:openai[1] malformed_tool_call(kind=truncated_json)", 200, '{\\"order\\"'),
        ("model:openai[1] truncated_stream(share=0.99)", 200, '"finish_reason": "length"'),
        ("tools:openai[1] poisoned", 200, "I see"),
    ],
)
def test_what_is_injected_is_what_the_client_sees(schedule: str, status: int, said: str) -> None:
    clean, disturbed = ask(SCRIPTED, _chat()).told, ask(SCRIPTED, _chat(), schedule).told

    assert disturbed.status_code == status
    assert said in json.dumps(disturbed.json()) or said in disturbed.text
    assert disturbed.json() != clean.json()


def test_a_stalled_model_is_silence_and_then_no_answer() -> None:
    schedule = "model:openai[1] slow(kind=stalled, seconds=0.05)"

    whole, streamed = ask(SCRIPTED, _chat(), schedule).told, ask(SCRIPTED, _chat(stream=True), schedule).told

    assert isinstance(whole, httpx.NetworkError)
    assert isinstance(streamed, httpx.RemoteProtocolError)
    assert "incomplete" in str(streamed)


def test_a_call_that_its_client_gives_up_is_given_up() -> None:
    asked = asyncio.Event()

    def asking(_: Any) -> str:
        asked.set()
        return "too late"

    async def hurried(variables: dict[str, str]) -> str:
        async with _client() as client:
            before = asyncio.all_tasks()
            url = f"{variables['OPENAI_BASE_URL']}/chat/completions"
            call = asyncio.ensure_future(client.post(url, json={"messages": QUESTION}))
            await asked.wait()
            call.cancel()
            _, left = await asyncio.wait(asyncio.all_tasks() - before, timeout=SECONDS_MAX)
        return "waited" if left else "gave up"

    seen = ask(Backends({"openai": asking}), hurried, "model:openai[1] slow(kind=delayed, seconds=86_400)")

    assert seen.told == "gave up"
    assert [step.kind for step in seen.trace.steps] == [StepKind.CANCELLED]


def test_what_is_replayed_needs_no_upstream_and_differs_at_the_first_other_request() -> None:
    asked = ask(SCRIPTED, _chat())
    nowhere = Backends({"openai": "http://127.0.0.1:9", "anthropic": "http://127.0.0.1:9"})

    same, served = ask_again(nowhere, _chat(), asked.trace)
    other, diverged = ask_again(nowhere, _chat(temperature=1), asked.trace)

    assert same.json() == asked.told.json()
    assert served.difference is None
    assert served.execution.trace.digest == asked.trace.digest
    assert (other.status_code, other.headers["x-should-retry"]) == (409, "false")
    assert diverged.difference is not None
    assert "temperature" in str(diverged.difference)


def test_what_tools_answered_crosses_once_where_it_is_asked_for() -> None:
    told = [{"role": "tool", "tool_call_id": "call_1_1", "content": "It is lost."}]
    seen: list[str] = []

    def reading(request: Any) -> str:
        seen.append(str(request["messages"]))
        return "sorry"

    async def twice(variables: dict[str, str]) -> None:
        for extra in ([], [{"role": "user", "content": "And now?"}]):
            body = {"messages": [*QUESTION, *told, *extra]}
            await _posted(f"{variables['OPENAI_BASE_URL']}/chat/completions", body)

    asked = ask(Backends({"openai": reading}, prompts=True), twice, "prompt:openai[1] splice(position=end)")

    assert [step.interface for step in asked.trace.steps] == ["prompt:openai", "model:openai", "model:openai"]
    assert all("It is lost.\\n" in text or "It is lost. " in text for text in seen)
    assert all("gnore all previous" in text for text in seen)


def test_a_clients_own_second_attempt_is_told_from_a_call_of_the_agent() -> None:
    openai = pytest.importorskip("openai")

    async def asking(variables: dict[str, str]) -> str:
        async with openai.AsyncOpenAI(base_url=variables["OPENAI_BASE_URL"], api_key="sk-x", max_retries=2) as client:
            done = await client.chat.completions.create(model="m", messages=QUESTION)
        return str(done.choices[0].message.content)

    asked = ask(SCRIPTED, asking, "model:openai[1] slow(kind=stalled, seconds=0.01)")

    assert asked.told == "I see []"
    assert [(step.occurrence, step.attempt) for step in asked.trace.steps] == [(1, 0), (1, 1)]


@pytest.mark.parametrize("stream", [False, True])
def test_the_clients_of_openai_and_anthropic_work_unchanged(stream: bool) -> None:
    openai, anthropic = pytest.importorskip("openai"), pytest.importorskip("anthropic")

    async def asking(variables: dict[str, str]) -> list[str]:
        told: list[str] = []
        async with openai.AsyncOpenAI(base_url=variables["OPENAI_BASE_URL"], api_key="sk-x") as client:
            if stream:
                async with client.chat.completions.stream(model="m", messages=QUESTION, tools=[]) as events:
                    chat = await events.get_final_completion()
                async with client.responses.stream(model="m", input="Where?") as events:
                    response = await events.get_final_response()
            else:
                chat = await client.chat.completions.create(model="m", messages=QUESTION)
                response = await client.responses.create(model="m", input="Where?")
            listed = [model.id async for model in client.models.list()]
        told += [chat.choices[0].message.content, chat.choices[0].message.tool_calls[0].function.arguments]
        told += [response.output_text, response.output[-1].arguments, *listed]
        async with anthropic.AsyncAnthropic(base_url=variables["ANTHROPIC_BASE_URL"], api_key="sk-y") as client:
            if stream:
                async with client.messages.stream(model="m", max_tokens=9, messages=QUESTION) as events:
                    message = await events.get_final_message()
            else:
                message = await client.messages.create(model="m", max_tokens=9, messages=QUESTION)
        return [*told, message.content[0].text, json.dumps(message.content[1].input)]

    asked = ask(SCRIPTED, asking)

    order = '{"order": "A-17"}'
    assert asked.told == ["I see []", order, "I see []", order, "scripted", "I see []", order]


# ---------------------------------------------------------------------- upstreams


def _completion(content: str = "hello") -> bytes:
    message = {"role": "assistant", "content": content}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    return json.dumps({"id": "c-1", "created": 5, "model": "m", "choices": choices}).encode()


def test_keys_go_to_the_upstream_and_nowhere_else(upstream: Callable[..., Upstream]) -> None:
    server = upstream(_completion())
    keys = {"Authorization": "Bearer sk-secret-1", "x-api-key": "sk-secret-2"}

    asked = ask(
        Backends({"openai": server.url}),
        lambda variables: _posted(f"{variables['OPENAI_BASE_URL']}/chat/completions", {"messages": QUESTION}, keys),
    )

    line, headers, _ = server.asked[0]
    stored = b"".join(step.request + step.response for step in asked.trace.steps)
    assert line == "POST /v1/chat/completions"
    assert headers["authorization"] == "Bearer sk-secret-1"
    assert headers["x-api-key"] == "sk-secret-2"
    assert b"sk-secret" not in stored
    assert asked.told.json()["id"] == "chatcmpl-1"


def test_an_error_of_the_upstream_reaches_the_client_as_it_is(upstream: Callable[..., Upstream]) -> None:
    server = upstream(b'{"error": {"message": "slow down", "code": "rate_limit"}}', status=429)

    asked = ask(Backends({"openai": server.url}), _chat())

    assert asked.told.status_code == 429
    assert asked.told.json()["error"]["code"] == "rate_limit"


@pytest.mark.parametrize(
    ("body", "kind", "complaint"),
    [
        (b"{oops", "application/json", "what is no JSON: '{oops'"),
        (b"[1]", "application/json", "it is no JSON object"),
        (b'{"choices": []}', "application/json", "it has no choices\\[0\\].message"),
        (b"data: {oops\n\n", "text/event-stream", "an event of its stream is no JSON"),
        (b'data: {"choices": []}\n\n', "text/event-stream", "its stream broke off after 1 events"),
        (
            b'data: {"choices": [{"delta": 3}]}\n\ndata: [DONE]\n\n',
            "text/event-stream",
            "does not keep to chat completions",
        ),
    ],
)
def test_what_an_upstream_garbles_is_told_to_both_sides(
    upstream: Callable[..., Upstream], body: bytes, kind: str, complaint: str
) -> None:
    troubles: list[str] = []
    server = upstream(body, kind)

    asked = ask(Backends({"openai": server.url}), _chat(), troubles=troubles)

    assert asked.told.status_code == 502
    with pytest.raises(AssertionError, match=complaint):
        raise AssertionError(asked.told.json()["error"]["message"])
    assert len(troubles) == 1
    assert server.url in troubles[0]


def test_an_upstream_that_breaks_off_is_a_broken_connection_for_the_client(upstream: Callable[..., Upstream]) -> None:
    troubles: list[str] = []
    server = upstream(_completion(), promised=10)

    asked = ask(Backends({"openai": server.url}), _chat(), troubles=troubles)

    assert isinstance(asked.told, httpx.NetworkError)
    assert "broke off" in troubles[0]


def test_an_upstream_that_is_not_there_is_named() -> None:
    troubles: list[str] = []
    with bound_socket(0) as silent:  # nobody listens there, and as long as it is held nobody can
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"

        asked = ask(Backends({"openai": url}), _chat(), troubles=troubles)

    assert asked.told.status_code == 502
    assert troubles == [f"openai cannot be reached at {url}: All connection attempts failed. Is it running?"]


def test_a_taken_port_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"port {port} on 127.0.0.1 cannot be had: Address already in use"):
            bound_socket(port)


@pytest.mark.parametrize("url", ["api.openai.com", "ftp://x", "http://"])
def test_an_upstream_that_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="an upstream is a URL such as"):
        Backends({"openai": url})
    with pytest.raises(UsageError, match="an upstream is a URL such as"):
        Backends(services={"shop": Service(url)})


# ---------------------------------------------------------------------- services


def shop() -> dict[str, Callable[..., Any]]:
    """A shop with one order."""
    paid: list[str] = []

    def get(order: str, fields: str = "all") -> dict[str, str]:
        if order != "A-17":
            raise StatusError(404, json.dumps({"reason": f"no order {order}"}))
        return {"order": order, "fields": fields}

    def refund(order: str, amount: float) -> dict[str, int]:
        paid.append(order)
        return {"refund": len(paid), "amount": int(amount)}

    return {"GET /orders/{order}": get, "POST /refunds": refund, "state": lambda: paid}


async def _refunded(variables: dict[str, str]) -> list[Any]:
    async with _client() as client:
        base = variables["SHOP_URL"]
        order = await client.get(f"{base}/orders/A-17?fields=note")
        missing = await client.get(f"{base}/orders/B%2F1")
        nothing = await client.delete(f"{base}/orders/A-17")
        try:
            paid = (await client.post(f"{base}/refunds", json={"order": "A-17", "amount": 40})).json()
        except httpx.HTTPError as error:
            paid = type(error).__name__
        return [order.json(), missing.status_code, missing.json(), nothing.status_code, paid]


def test_a_service_crosses_with_the_parts_of_its_path_query_and_body() -> None:
    asked = ask(Backends(services={"shop": Service(shop)}), _refunded)

    assert asked.told == [
        {"fields": "note", "order": "A-17"},
        404,
        {"reason": "no order B/1"},
        404,
        {"amount": 40, "refund": 1},
    ]
    assert [(step.operation, step.arguments) for step in asked.trace.steps] == [
        ("GET /orders/{order}", {"fields": "note", "order": "A-17"}),
        ("GET /orders/{order}", {"order": "B/1"}),
        ("DELETE /orders/A-17", {}),
        ("POST /refunds", {"amount": 40, "order": "A-17"}),
    ]
    assert asked.trace.outcome.state == {"shop": ["A-17"]}


def test_a_lost_response_is_a_broken_connection_after_the_effect() -> None:
    asked = ask(Backends(services={"shop": Service(shop)}), _refunded, "service:shop[4] lost_response")

    assert asked.told[-1] in ("ReadError", "RemoteProtocolError")
    assert asked.trace.outcome.state == {"shop": ["A-17"]}


def test_an_error_status_has_a_body_and_asks_for_patience() -> None:
    behind, schedule = (
        Backends(services={"shop": Service(shop)}),
        "service:shop[1] error_status(status=429, retry_after=7)",
    )

    async def once(variables: dict[str, str]) -> Any:
        async with _client() as client:
            return await client.get(f"{variables['SHOP_URL']}/orders/A-17")

    told = ask(behind, once, schedule).told

    assert (told.status_code, told.headers["retry-after"], told.json()) == (429, "7", {"error": "Too Many Requests"})


def test_a_server_elsewhere_gets_the_request_as_it_was(upstream: Callable[..., Upstream]) -> None:
    server = upstream(b"created", "text/plain; charset=utf-8", status=201)
    behind = Backends(services={"shop": Service(server.url, routes=["PUT /a/{b}", "POST /a/{b}"], reset="POST /reset")})

    async def asking(variables: dict[str, str]) -> Any:
        async with _client() as client:
            url, key = f"{variables['SHOP_URL']}/a/x%2Fy", {"Idempotency-Key": "k-1"}
            first = await client.post(url, params={"q": ["1", "2"], "b": "z"}, json={"q": 3, "c": [None]}, headers=key)
            return [first.status_code, first.text, (await client.post(url, content=b"\xff")).status_code]

    asked = ask(behind, asking)

    assert asked.told == [201, "created", 201]
    assert [line for line, _, _ in server.asked] == ["POST /reset", "POST /a/x%2Fy?q=1&q=2&b=z", "POST /a/x%2Fy"]
    assert json.loads(server.asked[1][2]) == {"c": [None], "q": 3}
    assert server.asked[1][1]["idempotency-key"] == "k-1"
    assert server.asked[2][2] == b"\xff"
    step = asked.trace.steps[0]
    assert step.arguments == {"b": "x/y", "body.q": 3, "c": [None], "q": ["1", "2"], "query.b": "z"}


def test_calls_at_the_same_time_have_one_order() -> None:
    async def together(variables: dict[str, str]) -> None:
        async with _client() as client:
            urls = [f"{variables['SHOP_URL']}/orders/A-{number}" for number in (19, 17, 18)]
            await asyncio.gather(*(client.get(url) for url in urls))

    traces = [ask(Backends(services={"shop": Service(shop)}), together).trace for _ in range(5)]

    assert len({trace.digest for trace in traces}) == 1
    assert [step.arguments["order"] for step in traces[0].steps] == ["A-17", "A-18", "A-19"]


def test_names_that_cannot_be_told_apart_are_refused() -> None:
    with pytest.raises(TargetError, match="two upstreams or services are called 'shop'"):
        Backends({"shop": answer}, {"shop": Service(shop)})
    with pytest.raises(TargetError, match="is called 'a shop'"):
        Backends({"a shop": answer})
    with pytest.raises(UsageError, match="'refunds' is no operation"):
        Backends(services={"shop": Service(shop, read_only=["refunds"])})


def test_addresses_of_another_run_and_unknown_names_are_told() -> None:
    async def lost(variables: dict[str, str]) -> list[Any]:
        base = variables["SHOP_URL"]
        async with _client() as client:
            other = await client.get(base.replace("/r/run-", "/r/old-"))
            unknown = await client.get(base.replace("/shop", "/shops"))
        bad = await _posted(base.replace("/shop", "/openai/v1/chat/completions"), [1])
        return [
            other.status_code,
            other.json()["error"]["message"],
            unknown.json()["error"]["message"],
            bad.status_code,
        ]

    asked = ask(Backends({"openai": answer}, {"shop": Service(shop)}), lost)

    assert asked.trace.ending is Ending.FINISHED
    assert asked.told == [
        404,
        f"chaosagent proxy: {OTHER_ADDRESS}",
        "chaosagent proxy: nothing here is called 'shops'; known are: openai, shop",
        400,
    ]


def test_the_port_and_the_token_of_a_run_are_taken_out_of_what_crosses() -> None:
    proxy = Proxy(UntracedRun(Task("default")), Backends())
    proxy._port = 40_123

    assert proxy.neutral({"said": ["cannot reach http://127.0.0.1:40123/x", 40_123, "order 40123"]}) == {
        "said": ["cannot reach http://127.0.0.1:0/x", 40_123, "order 40123"]
    }


def test_an_address_that_crosses_is_the_same_in_every_run() -> None:
    async def telling(variables: dict[str, str]) -> str:
        address = variables["SHOP_URL"]
        token = address.partition("/r/run-")[2].partition("/")[0]
        async with _client() as client:
            await client.post(f"{address}/orders", json={"callback": f"{address}/done", "token": token})
            await client.get(f"{address}/orders/{token}", params={"next": address})
        return token

    asked = [ask(Backends(services={"shop": Service(shop)}), telling) for _ in range(2)]

    assert asked[0].told != asked[1].told
    assert asked[0].trace.digest == asked[1].trace.digest
    assert asked[0].trace.steps[0].arguments == {"callback": "http://127.0.0.1:0/r/run/shop/done", "token": "token"}
    for one in asked:
        assert not [step for step in one.trace.steps if one.told in repr(step.canonical())]
