"""What a contract, an objective or the state function does wrong under a fault is blamed on nobody else."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Generator
from typing import Any, NoReturn

import pytest

from chaosagent.contracts.contract import End
from chaosagent.contracts.custom import contract
from chaosagent.errors import PluginError
from chaosagent.execution.execute import Execution
from chaosagent.trace.step import StepKind
from chaosagent.vocabulary import Ending, Outcome, Verdict

Play = Callable[..., Execution]
FAULT = "service:crm[1] service.error_status(retry_after=0.0, status=503, when=before)"


def end_program(*_: object) -> NoReturn:
    sys.exit(3)


def recurse(depth: int = 0) -> int:
    return recurse(depth + 1)


def after_a_fault(do: Callable[[Any], object]) -> Callable[[Any], Any]:
    """Return an agent that has a state function, which does something once its call has failed."""

    async def agent(run: Any) -> Outcome:
        failed: list[bool] = []
        run.state(lambda: do(run) if failed else 1)
        try:
            await run.service("crm", {"get": lambda: 1})("get")
        except Exception:
            failed.append(True)
        return Outcome("done", success=True)

    return agent


@pytest.mark.parametrize(
    ("do", "ending", "detail"),
    [
        (end_program, Ending.CRASHED, "SystemExit: 3"),
        (lambda run: run.inconclusive("nothing more to see"), Ending.INCONCLUSIVE, "nothing more to see"),
        (lambda _: recurse(), Ending.CRASHED, "RecursionError: maximum recursion depth exceeded (at"),
    ],
)
def test_a_state_function_that_fails_under_a_fault_ends_its_run_only(
    play: Play, do: Callable[[Any], object], ending: Ending, detail: str
) -> None:
    found = play(after_a_fault(do), FAULT)

    assert found.trace.ending is ending
    assert detail in found.trace.ending_detail


def test_a_recursion_reads_the_same_however_deep_the_stack_was(play: Play) -> None:
    def deeper(levels: int) -> Execution:
        return deeper(levels - 1) if levels else play(after_a_fault(lambda _: recurse()), FAULT)

    assert len({deeper(levels).trace.digest for levels in range(6)}) == 1


def test_an_objective_that_ends_the_program_leaves_the_success_open(play: Play) -> None:
    async def agent(run: Any) -> Outcome:
        try:
            await run.service("crm", {"get": lambda: 1})("get")
        except Exception:
            return Outcome("failed")
        return Outcome("done", success=True)

    assert play(agent, FAULT, objective=end_program).evaluation.success is None


def test_a_contract_that_ends_the_program_is_an_error_of_the_contract(play: Play) -> None:
    ending = contract("ends", at_end=True)(end_program)

    with pytest.raises(PluginError, match="contract 'ends' raised SystemExit: 3"):
        play(after_a_fault(lambda _: 1), experiment={"contracts": (ending,)})


def test_a_contract_that_catches_the_missing_outcome_does_not_hold(play: Play) -> None:
    @contract("defensive", at_end=True)
    def defensive(end: End) -> bool | None:
        try:
            return end.outcome.message == "done"
        except Exception:
            return None

    @contract("asks-first", at_end=True)
    def asks_first(end: End) -> bool | None:
        return end.outcome.message == "done" if end.has_outcome else None

    async def agent(_: Any) -> NoReturn:
        raise ValueError("crash")

    found = play(agent, experiment={"contracts": (defensive, asks_first)})

    assert [verdict.verdict for verdict in found.trace.verdicts] == [Verdict.UNKNOWN, Verdict.HOLDS]


class OneStep:
    """Drives a call by hand, and closes it when it has not answered at once."""

    def __init__(self, call: Any) -> None:
        self._steps = call.__await__()

    def __await__(self) -> Generator[Any, Any, str]:
        try:
            next(self._steps)
        except StopIteration:
            return "answered"
        except Exception:
            return "failed"
        yield from asyncio.sleep(1).__await__()
        self._steps.close()
        return "closed"


async def closes(run: Any) -> Outcome:
    """Close a call before it has answered."""

    async def slow() -> int:
        await run.clock.sleep(5)
        return 1

    return Outcome(await OneStep(run.service("crm", {"get": slow})("get")), success=True)


def test_a_call_that_the_target_closes_is_a_place_for_faults(play: Play) -> None:
    undisturbed, faulty = play(closes), play(closes, FAULT)

    assert [str(crossing.place) for crossing in undisturbed.evaluation.crossings] == ["service:crm[1]"]
    assert [step.kind for step in undisturbed.trace.steps] == [StepKind.CANCELLED]
    assert (undisturbed.trace.outcome.message, faulty.trace.outcome.message) == ("closed", "failed")
