"""`chaosagent proxy --mcp --record`: what an MCP server answered can be read back after SIGKILL."""

from __future__ import annotations

import http.server
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chaosagent.replays.store import read_record
from tests.cli.proxies import SECONDS_MAX, exported

pytestmark = [pytest.mark.mcp, pytest.mark.proxy, pytest.mark.slow]
pytest.importorskip("mcp")
httpx = pytest.importorskip("httpx")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")


@pytest.fixture
def shop() -> Iterator[str]:
    """Serve an MCP server whose tool answers with the order that it is given."""

    class Shop(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            result = {"content": [{"type": "text", "text": f"paid {asked['params']['arguments']['order']}"}]}
            body = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Shop) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/mcp"
        server.shutdown()


@pytest.mark.parametrize("kill_at", [1, 4, 20])
def test_sigkill_loses_nothing_that_an_mcp_server_answered(tmp_path: Path, shop: str, kill_at: int) -> None:
    command = [sys.executable, "-m", "chaosagent", "proxy", "--mcp", f"shop={shop}", "--record", "s.replay"]
    answered = []
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True, env=dict(os.environ)) as running:
        address = exported(running, "SHOP_MCP_URL")
        with httpx.Client(trust_env=False, timeout=SECONDS_MAX) as client:
            for number in range(kill_at):
                params = {"name": "refund", "arguments": {"order": f"A-{number}"}}
                asked = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
                answered.append(client.post(address, json=asked).json()["result"]["content"][0]["text"])
            running.kill()

    steps = read_record(tmp_path / "s.replay").trace.steps
    assert answered == [f"paid A-{number}" for number in range(kill_at)]
    assert [step.arguments for step in steps] == [{"order": f"A-{number}"} for number in range(kill_at)]
    assert all(text in json.dumps(step.answer) for text, step in zip(answered, steps, strict=True))
