"""Variables that checkpoints leave out: which are seen, by what name, and without any effect on the run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import pytest

from chaosagent.execution.execute import Execution
from chaosagent.execution.hidden_state.value_reader import names_read_after
from chaosagent.faults.evaluation import Fingerprinting
from chaosagent.vocabulary import Ending

Play = Callable[..., Execution]
LOST = "service:crm[1] service.lost_response(when=before)"


def seen(play: Play, agent: Callable[[Any], Any]) -> dict[str, tuple[bytes | None, bytes | None]]:
    """Return the digests of all variables at the first checkpoint, without and with a lost answer."""

    async def started(run: Any) -> None:
        await agent(run)

    nominal = play(started, fingerprinting=Fingerprinting.STATE).evaluation.undeclared[0]
    faulty = play(started, LOST, fingerprinting=Fingerprinting.STATE).evaluation.undeclared[0]
    one, other = ({variable.name: variable.digest for variable in found.variables} for found in (nominal, faulty))
    return {name: (one.get(name), other.get(name)) for name in {*one, *other}}


def differing(play: Play, agent: Callable[[Any], Any]) -> set[str]:
    """Return the names of the variables that differ after a lost answer."""
    return {name for name, (one, other) in seen(play, agent).items() if one != other}


async def failed(run: Any) -> bool:
    """Return whether the answer of a service was lost."""
    try:
        await run.service("crm", {"get": lambda: 1}, read_only=True)("get")
    except ConnectionError:
        return True
    return False


@dataclass
class Desk:
    """An agent's object."""

    lost: bool = False
    notes: dict[str, list[bool]] = field(default_factory=dict)


async def with_local(run: Any) -> bool:
    lost = await failed(run)
    run.checkpoint("here", None)
    return lost


async def with_dead_local(run: Any) -> bool:
    lost = await failed(run)
    run.checkpoint("here", None)
    lost = not run
    return bool(lost)


async def with_declared_local(run: Any) -> object:
    facts = {"lost": await failed(run)}
    run.checkpoint("here", facts)
    return facts


async def with_attribute(run: Any) -> bool:
    desk = Desk()
    desk.lost = await failed(run)
    run.checkpoint("here", None)
    return desk.lost


async def with_nested_attribute(run: Any) -> bool:
    desk = Desk()
    desk.notes["crm"] = [await failed(run)]
    run.checkpoint("here", None)
    return desk.notes["crm"][0]


async def with_closure(run: Any) -> bool:
    lost = await failed(run)

    def tell() -> bool:
        return lost

    run.checkpoint("here", None)
    return tell()


async def with_caller(run: Any) -> bool:
    lost = await failed(run)

    async def rest() -> None:
        run.checkpoint("here", None)

    await rest()
    return lost


NOTED = list[bool]()
LOSSES = 0
_lost: ContextVar[bool] = ContextVar("lost", default=False)


async def with_module_variable(run: Any) -> bool:
    NOTED.clear()
    if await failed(run):
        NOTED.append(True)
    run.checkpoint("here", None)
    return bool(NOTED)


async def with_rebound_module_variable(run: Any) -> bool:
    global LOSSES
    LOSSES = 7
    if await failed(run):
        LOSSES += 1
    run.checkpoint("here", None)
    return LOSSES > 7


async def with_context_variable(run: Any) -> bool:
    _lost.set(await failed(run))
    run.checkpoint("here", None)
    return _lost.get()


async def with_task_name(run: Any) -> bool:
    task = asyncio.current_task()
    assert task is not None
    if await failed(run):
        task.set_name(f"{task.get_name()} (lost)")
    run.checkpoint("here", None)
    return task.get_name().endswith("(lost)")


class Agent:
    """A target that keeps what it learns in itself."""

    def __init__(self, run: Any) -> None:
        self.run, self.tries = run, 0

    async def ask(self) -> int:
        """Ask, and come to a checkpoint."""
        self.tries += await failed(self.run)
        self.run.checkpoint("here", None)
        return self.tries


async def with_self(run: Any) -> int:
    return await Agent(run).ask()


@pytest.mark.parametrize(
    ("agent", "names"),
    [
        (with_local, {"lost in with_local"}),
        (with_attribute, {"Desk.lost"}),
        (with_nested_attribute, {"Desk.notes"}),
        (with_closure, {"lost in with_closure"}),
        (with_caller, {"lost in with_caller"}),
        (with_self, {"Agent.tries"}),
        (with_module_variable, {"NOTED in test_undeclared.py"}),
        (with_rebound_module_variable, {"LOSSES in test_undeclared.py"}),
        (with_context_variable, {"_lost in test_undeclared.py"}),
        (with_task_name, {"name of a task"}),
    ],
)
def test_what_a_fault_left_in_a_variable_is_seen_under_its_name(
    play: Play, agent: Callable[[Any], Any], names: set[str]
) -> None:
    found = differing(play, agent)

    assert names <= found
    assert len(found - names) <= 1  # a function that closes over the variable differs with it


@pytest.mark.parametrize("agent", [with_dead_local, with_declared_local])
def test_what_is_not_read_again_or_is_declared_is_not_named(play: Play, agent: Callable[[Any], Any]) -> None:
    assert not differing(play, agent)


def test_looking_at_variables_runs_no_code_of_the_target(play: Play) -> None:
    class Touchy:
        """Breaks when it is looked at."""

        def __getattr__(self, name: str) -> object:
            raise AssertionError(name)

        def __eq__(self, other: object) -> bool:
            raise AssertionError

        def __hash__(self) -> int:
            raise AssertionError

        def __repr__(self) -> str:
            raise AssertionError

        @property
        def lost(self) -> bool:
            """Break."""
            raise AssertionError

    async def agent(run: Any) -> str:
        touchy = [Touchy()]
        await failed(run)
        run.checkpoint("here", None)
        return str(len(touchy))

    assert play(agent, LOST, fingerprinting=Fingerprinting.STATE).evaluation.undeclared


def test_what_a_function_lets_go_of_behind_a_checkpoint_ends_as_in_other_runs(play: Play) -> None:
    class Connection:
        """Says when it ends."""

        def __init__(self, ended: list[str]) -> None:
            self.ended = ended

        def __del__(self) -> None:
            self.ended.append("closed")

    async def agent(run: Any) -> str:
        ended: list[str] = []
        connection: Connection | None = Connection(ended)
        await failed(run)
        run.checkpoint("here", None)
        connection = None
        ended.append("next")
        return f"{ended} {connection}"

    surveyed = play(agent, LOST, fingerprinting=Fingerprinting.STATE)

    assert surveyed.evaluation.undeclared
    assert surveyed.trace.outcome.message == play(agent, LOST).trace.outcome.message


def test_a_dictionary_of_variables_that_the_target_keeps_stays_as_it_is(play: Play) -> None:
    async def agent(run: Any) -> str:
        await failed(run)
        kept = locals()
        run.checkpoint("here", None)
        return str(sorted(kept))

    surveyed = play(agent, LOST, fingerprinting=Fingerprinting.STATE)

    assert "run" in surveyed.trace.outcome.message


def shared() -> list[Any]:
    """Return a list that is small, and would be huge were all that is in it written out."""
    found: list[Any] = []
    for _ in range(60):
        found = [found, found]
    return found


def with_odd_names() -> object:
    """Return an object with attributes whose names are no texts."""
    odd = Desk()
    vars(odd)[1] = 2  # type: ignore[index]  # on purpose
    return odd


class Huge(int):
    """A number that Python does not write out."""


class Proxy:
    """An object that answers for its attributes itself."""

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]  # on purpose
        raise AssertionError


@pytest.mark.parametrize("make", [shared, with_odd_names, lambda: Huge(10**5000), Proxy, lambda: ["text"] * 10**6])
def test_odd_and_large_variables_neither_stop_nor_slow_a_run(play: Play, make: Callable[[], object]) -> None:
    async def agent(run: Any) -> str:
        odd = make()
        await failed(run)
        run.checkpoint("here", None)
        return type(odd).__name__

    run = play(agent, LOST, fingerprinting=Fingerprinting.STATE)

    assert run.trace.ending is Ending.FINISHED


def test_variables_are_no_part_of_what_a_run_is(play: Play) -> None:
    async def agent(run: Any) -> str:
        lost = await failed(run)
        run.checkpoint("here", None)
        return str(lost)

    with_survey = play(agent, LOST, fingerprinting=Fingerprinting.STATE)
    without = play(agent, LOST)

    assert with_survey.trace.digest == without.trace.digest
    assert not without.evaluation.undeclared


def loops(run: Any) -> Any:
    """Read a variable again only in the next round of a loop."""
    total = 0
    for number in range(3):
        early = number
        run(early)
        late = total
        total = late + 1
    return total


def recovers(run: Any) -> Any:
    """Read a variable only where an error is handled."""
    kept = 1
    try:
        run()
    except ValueError:
        return kept
    return None


def offset_of_call(function: Callable[..., Any]) -> int:
    """Return where a function calls its argument `run`."""
    import dis

    calls = [one.offset for one in dis.get_instructions(function) if one.opname == "CALL"]
    return calls[-1] if function is recovers else calls[1]


def test_a_loop_reads_in_its_next_round_what_it_has_kept() -> None:
    names = names_read_after(loops.__code__, offset_of_call(loops))

    assert "total" in names
    assert "run" in names
    assert "early" not in names
    assert "late" not in names


def test_what_only_the_handling_of_an_error_reads_counts() -> None:
    assert "kept" in names_read_after(recovers.__code__, offset_of_call(recovers))
