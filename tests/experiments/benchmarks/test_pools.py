"""The benchmark of pools: real work, compared with the same work in this process."""

from __future__ import annotations

import pytest

from chaosagent.clock import cpu
from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.experiments.benchmarks import pools
from chaosagent.experiments.benchmarks.pools import JOBS, main, seconds_of, setup


@pytest.mark.slow
def test_a_longer_task_takes_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "monotonic", cpu)  # real time passes also for what else the machine does
    inline = InlineExecutor(setup()())
    short, long = JOBS

    assert seconds_of(inline, long, 1) > 5 * min(seconds_of(inline, short, 1) for _ in range(5))


def test_a_run_that_fails_is_no_measurement() -> None:
    with pytest.raises(RuntimeError, match="no such task"):
        seconds_of(InlineExecutor(setup()()), "no such task", 1)


@pytest.mark.slow
def test_the_command_prints_the_efficiency_of_every_pool(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--workers", "1", "--jobs", "0.02", "--rounds", "1", "--no-ray"])

    assert capsys.readouterr().out.count("efficiency") == len(JOBS)
