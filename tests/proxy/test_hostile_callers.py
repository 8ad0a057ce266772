"""Callers of the proxy that mean harm, or share it with others: cookies, deep bodies, foreign hosts and pages."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from chaosagent.proxy.proxy import Backends
from chaosagent.proxy.server import bound_socket
from chaosagent.proxy.service import Service
from chaosagent.vocabulary import Ending
from tests.proxy.conftest import Upstream, ask
from tests.proxy.hostile import CANARY, DEEP, LOGIN, REFUSED, STRICT_LOGIN

pytestmark = [pytest.mark.proxy, pytest.mark.slow]
httpx = pytest.importorskip("httpx")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

SECONDS_MAX = 50.0
"""How long a client waits: longer than any machine stands still, shorter than a run may take."""

PATHS = {
    "chat completions": "OPENAI_BASE_URL/chat/completions",
    "responses": "OPENAI_BASE_URL/responses",
    "messages": "ANTHROPIC_BASE_URL/v1/messages",
    "service": "SHOP_URL/orders",
}
"""Where a body is read, by what reads it."""

BEHIND = Backends(
    {"openai": lambda _: "hello", "anthropic": lambda _: "hello"},
    {"shop": Service(lambda: {"POST /orders": lambda **given: sorted(given)})},
)
"""Functions in the place of two models and a service."""


def _client() -> Any:
    return httpx.AsyncClient(trust_env=False, timeout=SECONDS_MAX)


def _url(variables: dict[str, str], path: str) -> str:
    name, slash, rest = path.partition("/")
    return variables[name] + slash + rest


def _posting(path: str, *bodies: bytes) -> Callable[[dict[str, str]], Any]:
    async def post(variables: dict[str, str]) -> list[Any]:
        async with _client() as client:
            return [await client.post(_url(variables, path), content=body) for body in bodies]

    return post


# ---------------------------------------------------------------------- cookies


def test_one_caller_is_not_sent_upstream_with_the_cookies_of_another(upstream: Callable[..., Upstream]) -> None:
    server = upstream(b"{}", headers=LOGIN)

    async def two_callers(variables: dict[str, str]) -> None:
        for _ in range(2):
            async with _client() as client:
                await client.get(f"{variables['SHOP_URL']}/cart")
                await client.post(f"{variables['OPENAI_BASE_URL']}/chat/completions", json={"messages": []})

    ask(Backends({"openai": server.url}, {"shop": Service(server.url)}), two_callers)

    assert len(server.asked) == 4
    assert [headers.get("cookie") for _, headers, _ in server.asked] == [None] * 4


@pytest.mark.parametrize("login", [LOGIN, STRICT_LOGIN])
def test_a_caller_gets_its_own_cookie_and_no_record_does(
    upstream: Callable[..., Upstream], login: dict[str, str]
) -> None:
    server, other = upstream(b"{}", headers=login), upstream(b"{}")

    async def same_caller(variables: dict[str, str]) -> None:
        async with _client() as client:
            for name in ("SHOP_URL", "SHOP_URL", "BANK_URL"):
                await client.get(f"{variables[name]}/cart")

    trace = ask(Backends(services={"shop": Service(server.url), "bank": Service(other.url)}), same_caller).trace

    assert [headers.get("cookie") for _, headers, _ in server.asked] == [None, "session=of-a"]
    assert [headers.get("cookie") for _, headers, _ in other.asked] == [None]
    assert not [step for step in trace.steps if b"of-a" in step.request + step.response]


# ---------------------------------------------------------------------- keys in addresses


@pytest.mark.parametrize(
    "name", ["key", "api_key", "API-Key", "access_token", "token", "X-Amz-Signature", "client_secret"]
)
def test_a_key_in_a_query_goes_to_the_upstream_and_into_no_record(upstream: Callable[..., Upstream], name: str) -> None:
    server = upstream(b"{}")

    def asking(value: str) -> Callable[[dict[str, str]], Any]:
        async def ask_both(variables: dict[str, str]) -> None:
            async with _client() as client:
                await client.get(f"{variables['SHOP_URL']}/orders", params=[(name, value), ("zone", "2")])
                await client.get(f"{variables['OPENAI_BASE_URL']}/models", params=[(name, value), (name, "x" * 20)])

        return ask_both

    behind = Backends({"openai": server.url}, {"shop": Service(server.url)})
    first, second = (ask(behind, asking(value)).trace for value in (CANARY, "another-" + CANARY))

    assert [line for line, _, _ in server.asked[:2]] == [
        f"GET /orders?{name}={CANARY}&zone=2",
        f"GET /v1/models?{name}={CANARY}&{name}={'x' * 20}",
    ]
    assert first.digest == second.digest
    assert [step.arguments for step in first.steps] == [{name: "[secret]", "zone": "2"}, {name: ["[secret]"] * 2}]
    assert CANARY not in repr([step.canonical() for step in first.steps])


def test_what_only_looks_like_a_key_crosses(upstream: Callable[..., Upstream]) -> None:
    server = upstream(b"{}")
    query = {"key": "A-17", "token": "next", "page_token": CANARY, "keys": CANARY, "monkey": CANARY}

    async def asking(variables: dict[str, str]) -> None:
        async with _client() as client:
            await client.get(f"{variables['SHOP_URL']}/orders", params=query)

    assert ask(Backends(services={"shop": Service(server.url)}), asking).trace.steps[0].arguments == query


def test_a_function_in_the_place_of_a_service_gets_the_key() -> None:
    given: list[str] = []
    behind = Backends(services={"shop": Service(lambda: {"GET /orders": lambda api_key: given.append(api_key)})})

    async def asking(variables: dict[str, str]) -> None:
        async with _client() as client:
            await client.get(f"{variables['SHOP_URL']}/orders", params={"api_key": CANARY})

    trace = ask(behind, asking).trace

    assert given == [CANARY]
    assert trace.steps[0].arguments == {"api_key": "[secret]"}


def test_a_password_in_the_address_of_an_upstream_is_in_no_message_and_no_record() -> None:
    troubles: list[str] = []
    with bound_socket(0) as silent:  # nobody listens there, and as long as it is held nobody can
        port = silent.getsockname()[1]
        place = f"http://user:{CANARY}@127.0.0.1:{port}"
        behind = Backends({"openai": place}, {"shop": Service(place)})

        async def asking(variables: dict[str, str]) -> list[Any]:
            async with _client() as client:
                return [
                    await client.post(f"{variables['OPENAI_BASE_URL']}/chat/completions", json={"messages": []}),
                    await client.get(f"{variables['SHOP_URL']}/orders"),
                ]

        asked = ask(behind, asking, troubles=troubles)

    assert len(troubles) == 2
    assert f"at http://127.0.0.1:{port}" in troubles[0]
    assert CANARY not in repr(troubles) + "".join(answer.text for answer in asked.told)
    assert CANARY not in repr([step.canonical() for step in asked.trace.steps])


# ---------------------------------------------------------------------- bodies that nest


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize("body", DEEP)
def test_a_body_that_nests_too_deeply_is_a_bad_request_and_nothing_else_ends(name: str, body: str) -> None:
    asked = ask(BEHIND, _posting(PATHS[name], DEEP[body], b'{"messages": []}'))

    refused, answered = asked.told
    assert (refused.status_code, answered.status_code) == (400, 200)
    assert "nests deeper than" in refused.json()["error"]["message"]
    assert asked.trace.ending is Ending.FINISHED


@pytest.mark.parametrize("name", [name for name in PATHS if name != "service"])
def test_a_number_of_100_000_digits_is_a_bad_request_and_a_lone_surrogate_crosses(name: str) -> None:
    odd = b'{"model": "m", "messages": [{"role": "user", "content": "\\ud800"}], "max_tokens": 1}'
    asked = ask(BEHIND, _posting(PATHS[name], b'{"seed": ' + b"9" * 100_000 + b"}", odd))

    refused, answered = asked.told
    assert (refused.status_code, answered.status_code) == (400, 200)
    assert "a number of thousands of digits. Send it as a text" in refused.json()["error"]["message"]
    assert asked.trace.ending is Ending.FINISHED


def _message(text: str) -> bytes:
    call = {"id": "c", "type": "function", "function": {"name": "get", "arguments": text}}
    return json.dumps({"choices": [{"message": {"role": "assistant", "tool_calls": [call]}}]}).encode()


@pytest.mark.parametrize("levels", [80, 700, 200_000])
@pytest.mark.parametrize(
    ("kind", "answer"),
    [
        ("application/json", lambda deep: deep.encode()),
        ("application/json", lambda deep: b'{"choices": ' + deep.encode() + b"}"),
        ("application/json", lambda deep: b'{"choices": [{"message": {"content": ' + deep.encode() + b"}}]}"),
        ("text/event-stream", lambda deep: b"data: " + deep.encode() + b"\n\ndata: [DONE]\n\n"),
        (
            "text/event-stream",
            lambda deep: b'data: {"choices": [{"delta": {"content": ' + deep.encode() + b"}}]}\n\ndata: [DONE]\n\n",
        ),
    ],
)
def test_an_answer_of_a_model_that_nests_too_deeply_is_a_bad_gateway(
    upstream: Callable[..., Upstream], kind: str, answer: Callable[[str], bytes], levels: int
) -> None:
    server = upstream(answer("[" * levels + "]" * levels), kind)

    asked = ask(Backends({"openai": server.url}), _posting(PATHS["chat completions"], b'{"messages": []}'))

    assert asked.told[0].status_code == 502
    assert asked.trace.ending is Ending.FINISHED


@pytest.mark.parametrize("levels", [80, 700, 200_000])
def test_what_is_no_request_and_nests_crosses_as_the_text_that_it_is(
    upstream: Callable[..., Upstream], levels: int
) -> None:
    deep = '{"a": ' * levels + "1" + "}" * levels
    model, service = upstream(_message(deep)), upstream(deep.encode())

    async def both(variables: dict[str, str]) -> list[Any]:
        async with _client() as client:
            said = await client.post(f"{variables['OPENAI_BASE_URL']}/chat/completions", json={"messages": []})
            return [said, await client.get(f"{variables['SHOP_URL']}/orders")]

    asked = ask(Backends({"openai": model.url}, {"shop": Service(service.url)}), both)

    said, got = asked.told
    call = said.json()["choices"][0]["message"]["tool_calls"][0]["function"]
    assert call["arguments"] == deep
    assert got.text == deep
    assert asked.trace.ending is Ending.FINISHED


# ---------------------------------------------------------------------- other hosts, and pages


@pytest.mark.parametrize("case", REFUSED)
def test_a_request_for_another_host_or_of_a_page_is_refused_before_it_crosses(case: str) -> None:
    headers, why = REFUSED[case]

    async def asking(variables: dict[str, str]) -> list[Any]:
        told = []
        async with _client() as client:
            for path in PATHS.values():
                url = httpx.URL(_url(variables, path))
                sent = {name: value.format(port=url.port) for name, value in headers.items()}
                told.append(await client.post(url, json={"messages": []}, headers=sent))
        return told

    asked = ask(BEHIND, asking)

    assert [answer.status_code for answer in asked.told] == [403] * len(PATHS)
    assert all(why in answer.json()["error"]["message"] for answer in asked.told)
    assert not asked.trace.steps


@pytest.mark.parametrize("host", ["localhost:{port}", "127.0.0.1", "LOCALHOST:1"])
def test_loopback_is_answered_under_both_of_its_names_and_through_any_forwarded_port(host: str) -> None:
    async def asking(variables: dict[str, str]) -> Any:
        async with _client() as client:
            url = httpx.URL(_url(variables, PATHS["service"]))
            return await client.post(url, json={}, headers={"host": host.format(port=url.port)})

    assert ask(BEHIND, asking).told.status_code == 200


@pytest.mark.parametrize("path", ["/", "/r/run/shop/orders", "/r/run-/shop/orders", "/r/run-{wrong}/shop/orders"])
def test_without_the_token_nothing_is_reached_and_the_token_is_not_told(path: str) -> None:
    async def asking(variables: dict[str, str]) -> tuple[Any, str]:
        url = httpx.URL(_url(variables, PATHS["service"]))
        token = url.path.partition("/r/run-")[2].partition("/")[0]
        async with _client() as client:
            wrong = path.format(wrong=token[:-1] + ("0" if token[-1] != "0" else "1"))
            return await client.post(url.copy_with(path=wrong), json={}), token

    asked = ask(BEHIND, asking)

    answer, token = asked.told
    assert answer.status_code == 404
    assert token not in answer.text
    assert not asked.trace.steps
