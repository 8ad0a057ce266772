"""Seeds that change nothing without faults are pointed out."""

from __future__ import annotations

import pytest

from chaosagent import Outcome, Run, Task, target
from chaosagent.execution.workers.workbench import Workbench
from chaosagent.vocabulary import SystemConfig


@pytest.mark.parametrize(
    ("values", "equal"),
    [
        ({0: "same", 1: "same", 2: "same"}, ["3 seeds give the same run without faults: 0, 1, 2"]),
        ({0: "one", 1: "other", 2: "one"}, ["2 seeds give the same run without faults: 0, 2"]),
        ({0: "one", 1: "other"}, []),
        ({0: "one"}, []),
    ],
)
def test_seeds_whose_runs_are_equal_are_named(values: dict[int, str], equal: list[str]) -> None:
    @target(tasks=[Task("a")])
    async def agent(task: Task, run: Run) -> Outcome:  # noqa: ARG001  # every task is the same
        await run.service("shop", {"get": lambda key: key})("get", key=values[run.seed])
        return Outcome("done", success=True)

    bench = Workbench(agent, SystemConfig(), ())
    for seed in values:
        bench.experiment("a", seed)

    assert [remark.partition(". Runs that")[0] for remark in bench.remarks_on("a")] == equal


def test_many_equal_seeds_are_cut() -> None:
    @target(tasks=[Task("a")])
    async def agent(task: Task, run: Run) -> Outcome:  # noqa: ARG001  # it crosses nothing
        return Outcome("done", success=True)

    bench = Workbench(agent, SystemConfig(), ())
    for seed in range(3, 15):
        bench.experiment("a", seed)

    (remark,) = bench.remarks_on("a")
    assert "12 seeds give the same run without faults: 3, 4, 5, 6, 7, 8, 9, 10 and more. Runs" in remark
    assert remark.endswith("one seed finds as much in less time: `seeds: [3]`.")
