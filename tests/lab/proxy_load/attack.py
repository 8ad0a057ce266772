"""One proxy under load that is killed, and what its recording lacks."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import subprocess
import sys
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from chaosagent.clock import monotonic
from tests.cli.proxies import exported, recorded_answers

MODEL = """
import hashlib

def answer(request):
    text = request["messages"][-1]["content"]
    return hashlib.sha256(text.encode()).hexdigest() + "x" * 200
"""
MEGABYTE, LARGE_MEGABYTES = b"y" * 1_000_000, 100
SLOW_BYTES = 3_900_000
"""What a slow caller announces: nearly the largest body."""
WATCH_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Load:
    """Who calls at once.

    Attributes:
        clients: Who ask and wait for the answer, again and again.
        slow: Who begin a body that never comes to its end.
        large: Who send bodies of 100 MB, again and again.
    """

    clients: int
    slow: int
    large: int


@dataclass(slots=True)
class Seen:
    """What came of it.

    Attributes:
        answered: Answers that clients have got.
        lost: Those of them that the recording lacks, or has otherwise.
        refused: Bodies that were too large, and answered so.
        slow: Callers that were still sending.
        megabytes: The most memory that the proxy had.
    """

    answered: int = 0
    lost: int = 0
    refused: int = 0
    slow: int = 0
    megabytes: int = 0


def killed_under_load(folder: Path, load: Load, seconds: float) -> Seen:
    """Kill a proxy some seconds after all of its callers have begun, and read its recording.

    Args:
        folder: An empty one.
        load: Its callers.
        seconds: Until it is killed; the first answer is waited for.
    """
    (folder / "model.py").write_text(MODEL, "utf-8")
    options = ["--upstream", "openai=scripted:model.py:answer", "--record", "session.replay"]
    running = subprocess.Popen(
        [sys.executable, "-m", "chaosagent", "proxy", *options],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert running.stdout is not None
    with running, running.stdout:
        try:
            seen, answered = asyncio.run(_under_load(running, exported(running, "OPENAI_BASE_URL"), load, seconds))
        finally:
            running.kill()
    recorded = recorded_answers(folder / "session.replay")
    seen.answered = len(answered)
    seen.lost = sum(recorded.get(text) != answer for text, answer in answered.items())
    assert all(answer == hashlib.sha256(text.encode()).hexdigest() + "x" * 200 for text, answer in answered.items())
    return seen


async def _under_load(
    running: subprocess.Popen[str], address: str, load: Load, seconds: float
) -> tuple[Seen, dict[str, str]]:
    seen, answered = Seen(), dict[str, str]()
    url = urlsplit(address)
    path = f"{url.path}/chat/completions"

    async def ask(number: int) -> None:
        connection = await asyncio.open_connection(url.hostname, url.port)
        for count in range(1_000_000):
            text = f"{number}-{count}"
            body = json.dumps({"messages": [{"role": "user", "content": text}]}).encode()
            _begin(connection[1], path, len(body), body)
            status, told = await _answer(connection[0])
            if status == HTTPStatus.OK:
                answered[text] = str(json.loads(told)["choices"][0]["message"]["content"])

    async def send_large(_: int) -> None:
        while True:
            reader, writer = await asyncio.open_connection(url.hostname, url.port)
            _begin(writer, path, LARGE_MEGABYTES * len(MEGABYTE))
            with contextlib.suppress(ConnectionError):  # a proxy may hang up once it has refused
                for _number in range(LARGE_MEGABYTES):
                    writer.write(MEGABYTE)
                    await writer.drain()
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                seen.refused += (await _answer(reader))[0] == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
            writer.close()

    async def send_slowly(_: int) -> None:
        _reader, writer = await asyncio.open_connection(url.hostname, url.port)
        _begin(writer, path, SLOW_BYTES, b"{")
        seen.slow += 1
        while True:
            await asyncio.sleep(0.5)
            writer.write(b" ")
            await writer.drain()

    callers: list[tuple[Any, int]] = [(send_slowly, load.slow), (ask, load.clients), (send_large, load.large)]
    tasks = [asyncio.ensure_future(call(number)) for call, count in callers for number in range(count)]
    begun = monotonic()
    while running.poll() is None and (monotonic() - begun < seconds or not answered):
        seen.megabytes = max(seen.megabytes, _memory_peak(running.pid))
        await asyncio.sleep(WATCH_SECONDS)
    running.kill()
    with contextlib.suppress(TimeoutError):  # what was sent before the kill may still arrive
        await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 20.0)
    return seen, answered


def _begin(writer: asyncio.StreamWriter, path: str, length: int, body: bytes = b"") -> None:
    """Send the head of a request, and the beginning of its body."""
    writer.write(f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: {length}\r\n\r\n".encode() + body)


async def _answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """Read an answer: its status and its body. A client library would take longer for 200 callers than the proxy."""
    head = await reader.readuntil(b"\r\n\r\n")
    lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    return int(head.split()[1]), await reader.readexactly(int(lengths[0].partition(b":")[2]))


def _memory_peak(pid: int) -> int:
    """Return the most memory that a process has had, in MB; 0 where the system does not say."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text("utf-8").splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) // 1_000
    return 0
