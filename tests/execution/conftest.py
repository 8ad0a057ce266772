"""What tests of runs have in common.

Tiny operators, written against the protocol as a stranger would; `play`, which runs a function as a target; and what
makes tests of worker processes independent of how fast the machine is.
"""

import inspect
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

from chaosagent.clock import monotonic
from chaosagent.execution.execute import Execution, Experiment, execute
from chaosagent.execution.workers import process_pool, worker_process
from chaosagent.execution.workers.executor import Executor
from chaosagent.execution.workers.workbench import Job
from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.evaluation import Evaluation, Fingerprinting
from chaosagent.faults.operator import OPERATORS, Choice, Domain, Levels, Text, bound
from chaosagent.faults.schedule import parse
from chaosagent.targets.target import Run, target
from chaosagent.vocabulary import Boundary, Failure, Outcome, Task


@dataclass(frozen=True, slots=True)
class _Tiny:
    """What the operators have in common."""

    boundaries: ClassVar[frozenset[Boundary]] = frozenset(Boundary)
    parameters: ClassVar[Mapping[str, Domain]] = {}
    magnitude: ClassVar[float] = 1.0
    tokens: ClassVar[int] = 0

    def describe(self) -> str:
        return type(self).__name__


@dataclass(frozen=True, slots=True)
class Hold(_Tiny):
    """Holds the answer back."""

    name: ClassVar[str] = "test/hold"
    parameters: ClassVar[Mapping[str, Domain]] = {"seconds": Levels(5.0, limits=(0.001, 1e6))}
    seconds: float = 5.0

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        await crossing.sleep(self.seconds)
        return response


@dataclass(frozen=True, slots=True)
class Fail(_Tiny):
    """Fails before or after the world has acted."""

    name: ClassVar[str] = "test/fail"
    parameters: ClassVar[Mapping[str, Domain]] = {
        "when": Choice("before", "after"),
        "kind": Text("timeout", characters_max=40),
    }
    when: str = "before"
    kind: str = "timeout"

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        if self.when == "after":
            await proceed(crossing.request)
        return Response(failure=Failure(self.kind, "injected", 503 if self.kind == "status" else None))


@dataclass(frozen=True, slots=True)
class Ask(_Tiny):
    """Asks for something else."""

    name: ClassVar[str] = "test/ask"

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        request = crossing.request
        return await proceed(request._replace(arguments={**request.arguments, "id": 99}))


@dataclass(frozen=True, slots=True)
class Say(_Tiny):
    """Answers something else."""

    name: ClassVar[str] = "test/say"
    parameters: ClassVar[Mapping[str, Domain]] = {"text": Text("other", characters_max=40)}
    text: str = "other"

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        await proceed(crossing.request)
        return Response(self.text)


@dataclass(frozen=True, slots=True)
class Nothing(_Tiny):
    """Answers nothing."""

    name: ClassVar[str] = "test/nothing"

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        await proceed(crossing.request)
        return Response(None)


@dataclass(frozen=True, slots=True)
class Same(_Tiny):
    """Changes nothing."""

    name: ClassVar[str] = "test/same"

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        return await proceed(crossing.request)


@dataclass(frozen=True, slots=True)
class Twice(_Tiny):
    """Sends the request twice, and answers the first time's answer."""

    name: ClassVar[str] = "test/twice"

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        first = await proceed(crossing.request)
        await proceed(crossing.request)
        return first


@dataclass(frozen=True, slots=True)
class Later(_Tiny):
    """Answers at once, and lets the request reach the world later."""

    name: ClassVar[str] = "test/later"
    parameters: ClassVar[Mapping[str, Domain]] = {"seconds": Levels(5.0, limits=(0.0, 1e6))}
    seconds: float = 5.0

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        crossing.defer(self.seconds, proceed, crossing.request)
        return Response(None)


@dataclass(frozen=True, slots=True)
class Earlier(_Tiny):
    """Answers what a cache would hold, and tells the history that it saw."""

    name: ClassVar[str] = "test/earlier"
    parameters: ClassVar[Mapping[str, Domain]] = {"asks": Choice("as-asked", "other")}
    reads_history: ClassVar[bool] = True
    asks: str = "as-asked"

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        request = crossing.request
        response = await proceed(request if self.asks == "as-asked" else request._replace(arguments={"id": 99}))
        earlier = crossing.earlier()
        seen = [exchange.response.value for exchange in crossing.history]
        return response if earlier is None else Response([earlier.value, seen])


@dataclass(frozen=True, slots=True)
class Draw(_Tiny):
    """Answers what the stream of its hook draws."""

    name: ClassVar[str] = "test/draw"

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        await proceed(crossing.request)
        return Response(crossing.rng.random())


@dataclass(frozen=True, slots=True)
class See(_Tiny):
    """Answers what it sees of its crossing."""

    name: ClassVar[str] = "test/see"

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        del proceed
        operation, arguments = crossing.request
        seen = [crossing.boundary.value, crossing.interface, crossing.agent, crossing.read_only, operation]
        return Response([*seen, dict(arguments)])


@dataclass(frozen=True, slots=True)
class Broken(_Tiny):
    """Has a mistake."""

    name: ClassVar[str] = "test/broken"
    parameters: ClassVar[Mapping[str, Domain]] = {"how": Choice("raises", "returns")}
    how: str = "raises"

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:  # noqa: ARG002  # the protocol's
        if self.how == "raises":
            raise KeyError("no such field")
        return "not a response"  # type: ignore[return-value]  # the mistake


KINDS = (Hold, Fail, Ask, Say, Nothing, Same, Twice, Later, Earlier, Draw, See, Broken)


@pytest.fixture(autouse=True)
def _operators(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for kind in KINDS:
        monkeypatch.setitem(OPERATORS._load(), kind.name, kind)
    bound.cache_clear()
    yield
    bound.cache_clear()


SECONDS_MAX = 60.0
"""How long is waited for what takes no time on a machine that nobody stops."""


def wait_until(so: Callable[[], bool]) -> bool:
    """Wait until something is so; return whether it came to that."""
    deadline = monotonic() + SECONDS_MAX
    while not so() and monotonic() < deadline:
        threading.Event().wait(0.01)
    return so()


def told(executor: Executor, jobs: list[Job]) -> list[Evaluation]:
    """What some jobs told, in their order; each has come back exactly once."""
    for ticket, job in enumerate(jobs):
        executor.submit(ticket, job)
    finished = [executor.next_finished() for _ in jobs]
    assert sorted(ticket for ticket, _ in finished) == list(range(len(jobs)))
    return [evaluation for _, evaluation in sorted(finished, key=lambda one: one.ticket)]


class Clock:
    """Real time, and an hour more for each time that something has come to pass."""

    def __init__(self) -> None:
        self.hours: Callable[[], int] = lambda: 0

    def __call__(self) -> float:
        return monotonic() + 3_600.0 * self.hours()


def times_noted(file: Path) -> int:
    """Return how often something was noted in a file, by a character each time."""
    return len(file.read_bytes()) if file.exists() else 0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of process executors, so that a run takes too long when a test says so, on any machine."""
    made = Clock()
    for module in (process_pool, worker_process):
        monkeypatch.setattr(module, "monotonic", made)
    return made


@pytest.fixture(scope="module")
def ray() -> Iterator[None]:
    """Have a Ray of this process alone, with room for two actors."""
    found = pytest.importorskip("ray", reason="the extra ray is not installed")
    before = signal.getsignal(signal.SIGTERM)
    found.init(
        address="local", num_cpus=2, include_dashboard=False, object_store_memory=80_000_000, log_to_driver=False
    )
    yield
    found.shutdown()
    signal.signal(signal.SIGTERM, signal.SIG_DFL if before is None else before)  # Ray takes it for itself


@pytest.fixture
def play() -> Callable[..., Execution]:
    """Run `function(run)` as a target; the rest is given by keyword. It need not return an outcome."""

    def outcome(returned: object) -> object:
        return Outcome(returned or "") if returned is None or isinstance(returned, str) else returned

    def play(
        function: Callable[..., Any],
        schedule: str = "",
        *,
        seed: int = 0,
        fingerprinting: Fingerprinting = Fingerprinting.OFF,
        experiment: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Execution:
        async def asynchronous(_: Task, run: Run) -> object:
            return outcome(await function(run))

        def synchronous(_: Task, run: Run) -> object:
            return outcome(function(run))

        made = target(name="tried", **options)(asynchronous if inspect.iscoroutinefunction(function) else synchronous)
        task, config = next(iter(made.tasks.values())), next(iter(made.configs.values()))
        tried = Experiment(made, task, config, seed, **(experiment or {}))
        return execute(tried, parse(schedule), fingerprinting=fingerprinting)

    return play
