"""Doors to real servers: what they refuse, how they connect, what counts as committed, and that nothing is left."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import socketserver
import subprocess
import sys
import textwrap
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from chaosagent.effects.rule import effect
from chaosagent.errors import ChaosAgentError, PluginError, TargetError
from chaosagent.execution.exact_replay import serve
from chaosagent.execution.execute import Execution, Experiment, execute
from chaosagent.execution.run import network_links as network
from chaosagent.execution.toxiproxy import Server
from chaosagent.execution.untraced import UntracedRun
from chaosagent.faults.crossing import Crossing, Request, Toxic
from chaosagent.faults.schedule import EMPTY, Schedule, parse
from chaosagent.limits import RunLimits
from chaosagent.targets.target import Run, Target, target
from chaosagent.vocabulary import Effect, Ending, Landing, Outcome, SystemConfig, Task

NETWORK = [pytest.mark.slow, pytest.mark.network]
PAID = Effect("bank.pay", {"amount": 5})
FAR_SECONDS = 60.0
"""For what takes milliseconds, on a machine that may stand still meanwhile."""


def _experiment(system: Target, seconds: float = FAR_SECONDS) -> Experiment:
    limits = RunLimits(wall_seconds_max=seconds)
    return Experiment(system, system.task("default"), SystemConfig(), seed=1, limits=limits)


def _executed(system: Target, delta: Schedule = EMPTY, seconds: float = FAR_SECONDS) -> Execution:
    return execute(_experiment(system, seconds), delta)


@contextmanager
def _listening() -> Iterator[str]:
    """Accept connections and never answer."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


class Bank:
    """A server that answers `pay` in a line; what it holds is looked at directly.

    Attributes:
        held: What was committed.
        left: How many connections `connect` has left.
        hesitates: Seconds before it commits.
        on_asked: Called when a client has sent a request.
        address: Where it listens.
    """

    def __init__(self) -> None:
        self.held: list[Effect] = []
        self.left = 0
        self.hesitates = 0.0
        self.on_asked: Callable[[], object] = int
        bank = self

        class Paying(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                with contextlib.suppress(ConnectionError):
                    while self.rfile.readline():
                        threading.Event().wait(bank.hesitates)
                        bank.held.append(PAID)
                        self.wfile.write(b"paid\n")

        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Paying)
        self.server.daemon_threads = True
        self.address = f"127.0.0.1:{self.server.server_address[1]}"

    @asynccontextmanager
    async def connect(self, host: str, port: int) -> AsyncIterator[dict[str, Callable[..., Any]]]:
        """Connect, and hand out what stands behind the door."""
        reader, writer = await asyncio.open_connection(host, port)

        async def pay(amount: int) -> str:
            writer.write(f"{amount}\n".encode())
            self.on_asked()
            line = await reader.readline()
            if not line:
                raise ConnectionResetError(f"{host}:{port} has closed the connection")
            return line.decode().strip()

        try:
            yield {"pay": pay}
        finally:
            self.left += 1
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()


@pytest.fixture
def bank() -> Iterator[Bank]:
    """Run a bank."""
    found = Bank()
    with found.server:
        thread = threading.Thread(target=found.server.serve_forever, args=(0.02,))
        thread.start()
        yield found
        found.server.shutdown()
        thread.join()


def _paying(bank: Bank, **declared: Any) -> Target:
    @target(clock="wall")
    async def paying(_: Task, run: Run) -> Outcome:
        """Pay twice, unless something breaks."""
        door = run.network("bank", bank.address, bank.connect, **declared)
        said = []
        for _number in range(2):
            try:
                said.append(await door("pay", amount=5))
            except ConnectionError as error:
                said.append(str(error).replace(bank.address, "the bank"))
                break  # this client does not connect again
        return Outcome(", ".join(said), success=True)

    return paying


# ---------------------------------------------------------------- what is refused


def _at(upstream: Any, connect: Callable[..., Any] = lambda host, port: {"pay": print}, **declared: Any) -> Target:  # noqa: ARG005
    @target(clock="wall")
    async def asking(_: Task, run: Run) -> Outcome:
        try:
            await run.network("bank", upstream, connect, **declared)("pay", amount=5)
        except Exception:  # a target that shrugs
            return Outcome("shrugged", success=True)
        return Outcome("done", success=True)

    return asking


@pytest.mark.parametrize("upstream", ["localhost", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:70000", "http://a:1", None])
def test_an_upstream_without_host_and_port_is_refused(upstream: str | None) -> None:
    with pytest.raises(TargetError, match=r"network:bank: the upstream is .*; write host:port, such as"):
        _executed(_at(upstream))


def test_an_upstream_that_is_dead_is_told(silent_port: int) -> None:
    with pytest.raises(
        TargetError,
        match=rf"network:bank: no server can be reached at 127\.0\.0\.1:{silent_port} \(Connection refused\)",
    ):
        _executed(_at(f"127.0.0.1:{silent_port}"))


def test_virtual_time_is_refused() -> None:
    @target
    async def hurried(_: Task, run: Run) -> None:
        run.network("bank", "127.0.0.1:1", print)

    with pytest.raises(TargetError, match=r'network:bank leads to a real server.*Write @target\(clock="wall"\)'):
        _executed(hurried)


def test_effects_that_would_count_twice_are_refused() -> None:
    system = _at("127.0.0.1:1", committed=list, effects={"pay": effect("amount")})

    with pytest.raises(TargetError, match="network:bank declares `committed` and `effects`; each would count"):
        _executed(system)


def test_a_function_that_cannot_start_the_server_is_told() -> None:
    def start() -> str:
        raise OSError("no room")

    with pytest.raises(TargetError, match=r"connect of network:bank: OSError: no room"):
        _executed(_at(start))


def test_without_toxiproxy_the_target_is_told_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chaosagent.execution.toxiproxy._SERVERS", {})
    monkeypatch.setenv("TOXIPROXY", "no-such-program")

    with _listening() as upstream, pytest.raises(TargetError, match="TOXIPROXY='no-such-program' names no program"):
        _executed(_at(upstream))


def test_a_door_of_another_boundary_has_no_connection_to_disturb() -> None:
    @target
    async def asking(_: Task, run: Run) -> None:
        await run.service("crm", {"ask": lambda: 1})("ask")

    with pytest.raises(PluginError, match="service:crm has no connection that 'down' could disturb"):
        _disturbed_somewhere_else(asking)


def _disturbed_somewhere_else(system: Target) -> None:
    from chaosagent.operators.service.delay import Delay

    async def apply(_: Delay, crossing: Crossing, proceed: Callable[[Request], Any]) -> Any:
        async with crossing.disturbed(Toxic("down", "")):
            return await proceed(crossing.request)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Delay, "apply", apply)
        _executed(system, parse("service:crm[1] delay"))


# ---------------------------------------------------------------- without a study


def test_outside_a_study_the_client_reaches_the_server_itself(bank: Bank) -> None:
    async def earnest() -> str:
        run = UntracedRun(Task("default"))
        door: Any = run.network("bank", bank.address, bank.connect)
        said = [await door("pay", amount=5) for _ in range(2)]
        await door._implementation._stack.aclose()
        return " ".join(said)

    assert asyncio.run(earnest()) == "paid paid"


# ---------------------------------------------------------------- with a real server


@pytest.mark.usefixtures("toxiproxy")
class TestWithToxiproxy:
    """Runs that have a Toxiproxy server."""

    pytestmark = NETWORK

    def test_what_connect_and_committed_open_is_behind_the_door(self, bank: Bank) -> None:
        async def committed() -> list[Effect]:
            _, writer = await asyncio.open_connection(*bank.server.server_address)
            writer.close()
            return bank.held

        told = _executed(_paying(bank, committed=committed))

        assert told.trace.effects == (PAID, PAID)
        assert told.evaluation.accesses == ()

    def test_what_connect_has_entered_is_left_at_the_end_of_the_run(self, bank: Bank) -> None:
        said = _executed(_paying(bank)).trace.outcome.message

        assert said == "paid, paid"
        assert bank.left == 1

    def test_what_was_committed_counts_also_where_its_answer_was_lost(self, bank: Bank) -> None:
        system = _paying(bank, committed=lambda: bank.held)

        trace = _executed(system, parse("network:bank[1] reset_peer")).trace

        assert [step.effects for step in trace.steps] == [(PAID,)]
        assert trace.steps[0].failure is not None
        assert trace.steps[0].landed is not None
        assert trace.steps[0].landed.landing is Landing.LANDED

    def test_declared_effects_count_what_was_acknowledged(self, bank: Bank) -> None:
        system = _paying(bank, effects={"pay": effect("amount")})

        nominal = _executed(system).trace
        broken = _executed(system, parse("network:bank[1] reset_peer")).trace

        assert [len(step.effects) for step in nominal.steps] == [1, 1]
        assert [len(step.effects) for step in broken.steps] == [0]

    def test_what_a_toxic_held_up_is_committed_by_its_call_though_the_client_gave_up(
        self, bank: Bank, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(network, "ARRIVAL_SECONDS", FAR_SECONDS)
        bank.hesitates = 4 * network.SETTLING_SECONDS

        @target(clock="wall")
        async def impatient(_: Task, run: Run) -> Outcome:
            door = run.network("bank", bank.address, bank.connect, committed=lambda: bank.held)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(None) as patience:
                    bank.on_asked = lambda: patience.reschedule(asyncio.get_running_loop().time() + 0.05)
                    await door("pay", amount=5)
            return Outcome("", success=True)

        trace = _executed(impatient, parse("network:bank[1] latency(seconds=60, stream=upstream)")).trace

        (step,) = trace.steps
        assert step.effects == (PAID,)
        assert step.landed is not None
        assert step.landed.landing is Landing.LANDED

    def test_the_port_of_the_proxy_reaches_neither_trace_nor_target(self, bank: Bank) -> None:
        messages = {
            _executed(_paying(bank), parse("network:bank[1] reset_peer")).trace.outcome.message for _ in range(3)
        }

        assert messages == {"the bank has closed the connection"}

    def test_a_connection_that_the_proxy_is_slow_to_take_is_no_new_one_to_a_toxic(
        self, bank: Bank, toxiproxy: Server
    ) -> None:
        if toxiproxy.companion is None:
            pytest.skip("this server is not ours to stop")
        group = toxiproxy.companion._guard.pid
        connect = bank.connect

        @asynccontextmanager
        async def slow(host: str, port: int) -> AsyncIterator[dict[str, Callable[..., Any]]]:
            os.killpg(group, signal.SIGSTOP)
            going_on = threading.Timer(0.2, os.killpg, (group, signal.SIGCONT))
            going_on.start()
            async with connect(host, port) as behind:
                yield behind
            going_on.join()

        bank.connect = slow  # type: ignore[method-assign]  # of this bank
        messages = {
            _executed(_paying(bank), parse("network:bank[1] reset_peer")).trace.outcome.message for _ in range(3)
        }

        assert messages == {"the bank has closed the connection"}

    def test_a_mistake_in_what_was_committed_is_told(self, bank: Bank) -> None:
        def committed() -> list[Effect]:
            raise KeyError("entries")

        with pytest.raises(TargetError, match=r"committed of network:bank: KeyError: entries"):
            _executed(_paying(bank, committed=committed))

    def test_what_is_no_effect_is_told(self, bank: Bank) -> None:
        with pytest.raises(TargetError, match=r"committed of network:bank: TypeError: 'paid' is no Effect"):
            _executed(_paying(bank, committed=lambda: ["paid"]))

    def test_an_exact_replay_connects_to_nothing(self, bank: Bank, monkeypatch: pytest.MonkeyPatch) -> None:
        delta = parse("network:bank[1] reset_peer")
        system = _paying(bank, committed=lambda: bank.held)
        trace = _executed(system, delta).trace
        monkeypatch.setattr("chaosagent.execution.toxiproxy.server", _unreachable)
        held, left = len(bank.held), bank.left

        served = serve(_experiment(system), trace, delta)

        assert served.difference is None
        assert served.execution.trace.digest == trace.digest
        assert (len(bank.held), bank.left) == (held, left)

    def test_calls_at_the_same_moment_connect_once(self, bank: Bank) -> None:
        connected = []

        def connect(*address: object) -> Any:
            connected.append(address)
            return {"look": lambda: "seen"}

        @target(clock="wall")
        async def at_once(_: Task, run: Run) -> Outcome:
            door = run.network("bank", bank.address, connect)
            return Outcome(" ".join(await asyncio.gather(*(door("look") for _ in range(3)))), success=True)

        assert _executed(at_once).trace.outcome.message == "seen seen seen"
        assert len(connected) == 1

    def test_a_run_that_ends_at_its_limit_leaves_no_proxy(self, bank: Bank, toxiproxy: Server) -> None:
        delta = parse("network:bank[1] timeout(seconds=60)")

        trace = _executed(_paying(bank), delta, seconds=0.5).trace

        assert trace.ending is Ending.HUNG
        assert toxiproxy.proxies() == []

    @pytest.mark.parametrize("raised", [ValueError("crash"), KeyboardInterrupt()])
    def test_a_run_that_crashes_or_is_interrupted_leaves_no_proxy(
        self, bank: Bank, raised: BaseException, toxiproxy: Server
    ) -> None:
        @target(clock="wall")
        async def crashing(_: Task, run: Run) -> None:
            await run.network("bank", bank.address, bank.connect)("pay", amount=5)
            raise raised

        if isinstance(raised, KeyboardInterrupt):
            with pytest.raises(KeyboardInterrupt):
                _executed(crashing)
        else:
            assert _executed(crashing).trace.ending is Ending.CRASHED
        assert toxiproxy.proxies() == []

    def test_a_process_that_is_killed_leaves_its_proxies_to_the_next_one(
        self, toxiproxy: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("TOXIPROXY", f"{toxiproxy.host}:{toxiproxy.port}")
        (tmp_path / "dying.py").write_text(DYING)
        with _listening() as upstream:
            died = subprocess.run([sys.executable, str(tmp_path / "dying.py"), upstream], check=False, timeout=60)

        left = toxiproxy.proxies()
        removed = toxiproxy.remove_stale()

        assert died.returncode == -signal.SIGKILL
        assert left == removed
        assert len(left) == 1
        assert f".{os.getpid()}." not in left[0]


def _unreachable() -> Server:
    raise ChaosAgentError("an exact replay asks for a server")


DYING = textwrap.dedent("""
    import os, signal, sys
    from chaosagent import Task, target
    from chaosagent.execution.execute import Experiment, execute
    from chaosagent.faults.schedule import EMPTY
    from chaosagent.vocabulary import SystemConfig

    @target(clock="wall")
    async def dying(task, run):
        await run.network("bank", sys.argv[1], lambda host, port: {"look": lambda: 1})("look")
        os.kill(os.getpid(), signal.SIGKILL)

    execute(Experiment(dying, dying.task("default"), SystemConfig(), 1), EMPTY)
""")
