"""A page in headless Chromium reaches nothing behind the proxy, not even with a rebound name and the token."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from chaosagent.proxy.proxy import Backends
from chaosagent.proxy.service import Service
from tests.proxy.conftest import Upstream, ask
from tests.report.html.browser import CHROMIUM, open_browser

pytestmark = [
    pytest.mark.proxy,
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine (apt-get install chromium)"),
]
pytest.importorskip("httpx")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

REBOUND = "--host-resolver-rules=MAP evil.example 127.0.0.1"
"""A name of the attacker that leads to loopback, as after DNS rebinding."""

ATTEMPT = """
(async () => {
  const read = [];
  for (const url of %s) {
    for (const options of [
      {},
      {mode: "no-cors"},
      {method: "POST", mode: "no-cors", body: "{}"},
      {method: "POST", headers: {"content-type": "application/json"}, body: '{"messages": []}'},
      {method: "DELETE"},
    ]) {
      try {
        const answer = await fetch(url, options);
        read.push(answer.status + " " + await answer.text());
      } catch (error) {
        read.push("refused");
      }
    }
    await new Promise(done => { const image = new Image(); image.onload = image.onerror = done; image.src = url; });
    await new Promise(done => {
      const frame = document.createElement("iframe");
      frame.onload = done;
      frame.src = url;
      document.documentElement.append(frame);
    });
  }
  return read;
})()
"""
"""Asks in every way that a page has."""


@pytest.mark.parametrize("page", ["of another site", "of the rebound name and port", "of a file"])
def test_a_page_in_a_browser_reaches_nothing(upstream: Callable[..., Upstream], page: str, tmp_path: Any) -> None:
    behind, site = upstream(b"the world's secret"), upstream(b"<p>hello</p>", "text/html")
    (tmp_path / "page.html").write_text("<p>hello</p>")

    def attack(urls: list[str]) -> list[str]:
        evil = [url.replace("127.0.0.1", "evil.example") for url in urls]
        own_port = evil[0].partition("/r/")[0]
        opened = {
            "of another site": site.url.replace("127.0.0.1", "evil.example"),
            "of the rebound name and port": f"{own_port}/",
            "of a file": (tmp_path / "page.html").as_uri(),
        }[page]
        with open_browser(REBOUND) as browser:
            browser.open_url(opened)
            read: list[str] = browser.evaluate(ATTEMPT % json.dumps([*urls, *evil]))
        return read

    async def attacked(variables: dict[str, str]) -> list[str]:
        urls = [f"{variables['SHOP_URL']}/orders", f"{variables['OPENAI_BASE_URL']}/chat/completions"]
        return await asyncio.to_thread(attack, urls)

    asked = ask(Backends({"openai": behind.url}, {"shop": Service(behind.url)}), attacked)

    assert len(asked.told) == 20
    assert not [text for text in asked.told if "secret" in text]
    assert behind.asked == []
    assert asked.trace.steps == ()
