"""`chaosagent proxy --record`: what was answered can be read back, whatever ends the proxy and whenever."""

from __future__ import annotations

import resource
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from chaosagent.cli.main import main
from chaosagent.errors import RecordError
from chaosagent.replays.store import read_record
from chaosagent.vocabulary import Ending
from tests.cli.proxies import SECONDS_MAX, exported, recorded_answers

pytestmark = [pytest.mark.proxy, pytest.mark.slow]
httpx = pytest.importorskip("httpx")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")


MODEL = """
import hashlib

def answer(request):
    text = request["messages"][-1]["content"]
    size = int(text.partition(" ")[0])
    return hashlib.sha256(text.encode()).hexdigest() + "x" * size
"""
"""A model that answers each question in its own way, at the length that it names."""


@contextmanager
def _running(folder: Path, *options: str, **how: Any) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start a proxy and yield it with the address of its model."""
    (folder / "model.py").write_text(MODEL)
    running = subprocess.Popen(
        [sys.executable, "-m", "chaosagent", "proxy", "--upstream", "openai=scripted:model.py:answer", *options],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **how,
    )
    try:
        yield running, exported(running, "OPENAI_BASE_URL")
    finally:
        running.kill()
        running.communicate()


def _client() -> Any:
    return httpx.Client(trust_env=False, timeout=SECONDS_MAX)


def _ask(client: Any, address: str, text: str) -> Any:
    return client.post(f"{address}/chat/completions", json={"messages": [{"role": "user", "content": text}]})


def _ended(running: subprocess.Popen[str]) -> tuple[int, str]:
    running.send_signal(signal.SIGINT)
    said, told = running.communicate(timeout=SECONDS_MAX)
    return running.returncode, said + told


def _said(answer: Any) -> str:
    return str(answer.json()["choices"][0]["message"]["content"])


def _ask_until_killed(running: subprocess.Popen[str], address: str, clients: int, kill_at: int) -> dict[str, str]:
    """Let clients ask at the same time, kill the proxy once some are answered, and return what was answered."""
    answered: dict[str, str] = {}
    gate = threading.Lock()

    def asking(number: int) -> None:
        with suppress(httpx.HTTPError), _client() as client:
            for count in range(1_000):
                text = f"{(number * 7919) % 3000} {number}-{count}"
                said = _said(_ask(client, address, text))
                with gate:
                    answered[text] = said
                    if len(answered) >= kill_at:
                        running.kill()

    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(asking, range(clients)))
    return answered


@pytest.mark.parametrize("kill_at", [1, 2, 3, 5, 8, 20, 50, 120])
@pytest.mark.parametrize("clients", [1, 8])
def test_sigkill_loses_nothing_that_was_answered(tmp_path: Path, kill_at: int, clients: int) -> None:
    with _running(tmp_path, "--record", "session.replay") as (running, address):
        answered = _ask_until_killed(running, address, clients, kill_at)
        running.wait()

    read = recorded_answers(tmp_path / "session.replay")
    assert len(answered) >= kill_at
    assert {text: read.get(text) for text in answered} == answered
    assert len(read) <= len(answered) + clients

    with _running(tmp_path, "--replay", "session.replay") as (again, address):
        texts = sorted(answered, key=list(read).index)
        with _client() as client:
            first = _said(_ask(client, address, texts[0])) if clients == 1 else answered[texts[0]]
        assert first == answered[texts[0]]
        _ended(again)


def test_a_killed_session_can_be_shown_and_says_that_it_was_cut_off(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with _running(tmp_path, "--record", "session.replay") as (running, address):
        _ask_until_killed(running, address, 1, 3)

    record = read_record(tmp_path / "session.replay")
    assert record.trace.ending is Ending.INCONCLUSIVE
    assert record.trace_digest == record.trace.digest
    assert main(["show", str(tmp_path / "session.replay")]) == 0
    assert "cut off" in capsys.readouterr().out


def test_a_killed_session_answers_again_and_ends_where_it_was_cut_off(tmp_path: Path) -> None:
    with _running(tmp_path, "--record", "session.replay") as (running, address):
        answered = _ask_until_killed(running, address, 1, 3)

    with _running(tmp_path, "--replay", "session.replay") as (again, address), _client() as client:
        assert {text: _said(_ask(client, address, text)) for text in answered} == answered
        for number in range(3):  # one more may have been recorded that was not answered
            beyond = _ask(client, address, f"0 0-{len(answered) + number}")
            if beyond.status_code != 200:
                break
        _, said = again.communicate(timeout=SECONDS_MAX)

    assert beyond.status_code == 409
    assert "cut off" in beyond.text
    assert again.returncode == 3
    assert "the session was cut off here" in said


def test_every_shorter_file_is_a_shorter_session_and_every_changed_byte_is_refused(tmp_path: Path) -> None:
    with _running(tmp_path, "--record", "session.replay") as (running, address), _client() as client:
        for number in range(3):
            _ask(client, address, f"10 {number}")
        _ended(running)
    data = (tmp_path / "session.replay").read_bytes()
    whole = read_record(tmp_path / "session.replay")
    other = tmp_path / "other.replay"
    counts = set()

    for size in range(10, len(data)):
        other.write_bytes(data[:size])
        try:
            trace = read_record(other).trace
        except RecordError as error:
            assert "ends before anything was recorded" in str(error), size  # noqa: PT017  # most sizes raise nothing
        else:
            counts.add(len(trace.steps))
            assert trace.steps == whole.trace.steps[: len(trace.steps)]
            assert trace.ending is Ending.INCONCLUSIVE
    for place in range(8, len(data)):
        other.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with pytest.raises(RecordError, match=r"damaged at byte|has format version"):
            read_record(other)

    assert whole.trace.ending is Ending.FINISHED
    assert counts == {0, 1, 2, 3}


def test_a_full_disk_ends_the_session_and_gives_out_nothing_that_is_notrecorded_answers(tmp_path: Path) -> None:
    def small_files() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a write above the limit is then an error, as on a full disk
        resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))

    answered: dict[str, str] = {}
    with _running(tmp_path, "--record", "session.replay", preexec_fn=small_files) as (running, address):
        with suppress(httpx.HTTPError), _client() as client:
            for number in range(20):
                answer = _ask(client, address, f"5000 {number}")
                if answer.status_code != 200:
                    break
                answered[f"5000 {number}"] = _said(answer)
        _, told = running.communicate(timeout=SECONDS_MAX)

    assert 3 < len(answered) < 15
    assert recorded_answers(tmp_path / "session.replay") == answered
    assert running.returncode == 4
    assert "session.replay: cannot be written: " in told
    assert "What was answered before stands in it" in told


def test_a_bad_path_is_refused_at_the_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    (tmp_path / "old.replay").touch()
    (tmp_path / "folder.replay").mkdir()
    (tmp_path / "link.replay").symlink_to("nowhere")
    for path, why in {
        "file": "cannot be written there: File exists",
        "file/session.replay": "cannot be written there: ",
        "old.replay": "there is such a file already",
        "folder.replay": "there is such a file already",
        "link.replay": "there is such a file already",
        "/proc/session.replay": "cannot be written there: ",
        "/proc/records": "cannot be written there: ",
    }.items():
        assert main(["proxy", "--upstream", "openai=http://127.0.0.1:9", "--record", path]) == 2, path
        said = capsys.readouterr().err
        assert why in said, said
        assert "Name " in said
    assert (tmp_path / "old.replay").read_bytes() == b""


def test_each_session_has_a_file_of_its_own_in_a_folder(tmp_path: Path) -> None:
    for number in range(2):
        with _running(tmp_path, "--record", "records") as (running, address), _client() as client:
            _ask(client, address, f"1 {number}")
            code, said = _ended(running)
        assert code == 0
        assert "recorded in records/" in said

    paths = sorted((tmp_path / "records").iterdir())
    assert [list(recorded_answers(path)) for path in paths] in ([["1 0"], ["1 1"]], [["1 1"], ["1 0"]])
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths} == {0o600}


# ---------------------------------------------------------------------- limits


def test_a_body_above_the_limit_is_refused_and_the_session_goes_on(tmp_path: Path) -> None:
    limits = ("--record", "session.replay", "--body-mb", "0.1")
    with _running(tmp_path, *limits) as (running, address), _client() as client:
        before = _said(_ask(client, address, "1 before"))
        large = [_ask(client, address, "1 " + "y" * size) for size in (100_001, 20_000_000)]
        chunked = client.post(f"{address}/chat/completions", content=iter([b"y" * 60_000] * 5))
        after = _said(_ask(client, address, "1 after"))
        code, _ = _ended(running)

    assert [answer.status_code for answer in (*large, chunked)] == [413] * 3
    assert "--body-mb" in chunked.json()["error"]["message"]
    assert (code, recorded_answers(tmp_path / "session.replay")) == (0, {"1 before": before, "1 after": after})


def test_slow_callers_and_large_bodies_take_neither_the_memory_nor_the_answers_of_the_others(tmp_path: Path) -> None:
    answered: dict[str, str] = {}
    statuses: list[int] = []
    with _running(tmp_path, "--record", "session.replay") as (running, address):
        with _slow_callers(address, 60):
            before = _memory_peak(running.pid)

            def send_large(_: int) -> None:
                with _client() as client:
                    statuses.append(
                        client.post(f"{address}/chat/completions", content=_hundred_megabytes()).status_code
                    )

            def ask_some(number: int) -> None:
                with _client() as client:
                    for text in (f"10 {number}-{count}" for count in range(3)):
                        answered[text] = _said(_ask(client, address, text))

            with ThreadPoolExecutor(24) as pool:
                list(pool.map(lambda number: (send_large if number < 3 else ask_some)(number), range(24)))
            grown = _memory_peak(running.pid) - before
        running.kill()

    assert statuses == [413] * 3
    assert len(answered) == 63
    assert recorded_answers(tmp_path / "session.replay") == answered
    assert grown < 60, "megabytes, of which bodies of 100 MB would take more"


def _hundred_megabytes() -> Iterator[bytes]:
    for _ in range(100):
        yield b"y" * 1_000_000


@contextmanager
def _slow_callers(address: str, count: int) -> Iterator[None]:
    """Begin requests of nearly the largest size that never come to their end."""
    url = httpx.URL(address)
    head = f"POST {url.path}/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 3900000\r\n\r\n"
    with ExitStack() as opened:
        for _ in range(count):
            slow = opened.enter_context(socket.create_connection(("127.0.0.1", url.port)))
            slow.sendall(head.encode() + b"{")
        yield


def _memory_peak(pid: int) -> int:
    """Return the most memory that a process has had, in MB."""
    (line,) = (line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) // 1_000


def test_a_session_of_more_than_64_mebibytes_is_recorded_whole(tmp_path: Path) -> None:
    with _running(tmp_path, "--record", "session.replay") as (running, address), _client() as client:
        answered = {text: _said(_ask(client, address, text)) for text in (f"3000000 {number}" for number in range(25))}
        code, _ = _ended(running)

    assert code == 0
    assert (tmp_path / "session.replay").stat().st_size > 64 * 1024 * 1024
    assert recorded_answers(tmp_path / "session.replay") == answered


def test_a_session_at_its_limit_ends_and_keeps_what_it_has(tmp_path: Path) -> None:
    limits = ("--record", "session.replay", "--total-mb", "0.05")
    answered = {}
    with _running(tmp_path, *limits) as (running, address), _client() as client:
        for number in range(30):
            answer = _ask(client, address, f"10000 {number}")
            if answer.status_code != 200:
                break
            answered[f"10000 {number}"] = _said(answer)
        _, said = running.communicate(timeout=SECONDS_MAX)

    assert answer.status_code == 409
    assert "--total-mb" in answer.json()["error"]["message"]
    assert (running.returncode, len(answered)) == (3, 5)
    assert "reached its limit of 0.05 MB" in said
    assert recorded_answers(tmp_path / "session.replay") == answered


@pytest.mark.parametrize("option", ["--body-mb", "--total-mb"])
@pytest.mark.parametrize("value", ["0", "-1", "1e9", "many", "nan"])
def test_limits_out_of_bounds_are_refused(option: str, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["proxy", option, value]) == 2
    assert option in capsys.readouterr().err
