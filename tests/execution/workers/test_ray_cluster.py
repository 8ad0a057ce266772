"""A study on a cluster of Ray that loses a node reports the same as without the loss, after a short delay."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from chaosagent.clock import monotonic
from chaosagent.execution.workers.executor import Executor, Finished, InlineExecutor
from chaosagent.execution.workers.ray_pool import RayExecutor
from chaosagent.execution.workers.workbench import Job
from chaosagent.faults.schedule import EMPTY
from chaosagent.faults.space import Choices, Space
from chaosagent.study.loop.study import Study
from chaosagent.study.plan import Plan
from tests.study.test_executors import refund_bench, refund_plan
from tests.thorough import IS_THOROUGH

pytestmark = [
    pytest.mark.slow,
    pytest.mark.ray,
    # Ray leaves sockets and files to the interpreter's end.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
]
DELAY_SECONDS_MAX = 30.0
MOMENTS = (0, 10, 30, 60, 100) if IS_THOROUGH else (40,)
"""After how many of the study's 112 runs the node is lost; at 0 its worker may still load the target."""


def make_plan() -> Plan:
    space = Space((Choices("service.lost_response", {}), Choices("service.timeout", {})))
    return replace(refund_plan(), space=space)


class TwoNodes:
    """A cluster with one CPU in each of two nodes, so that a replacement of a lost worker finds no free CPU."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        self._cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "object_store_memory": 80_000_000})
        self._second: Any = None
        self.address: str = self._cluster.address

    def add_second(self) -> None:
        self._second = self._cluster.add_node(num_cpus=1, object_store_memory=80_000_000)

    def remove_second(self) -> None:
        self._cluster.remove_node(self._second, allow_graceful=False)

    def close(self) -> None:
        self._cluster.shutdown()


class LosesNode:
    """An executor that passes on to another; after a number of results the cluster loses a node."""

    def __init__(self, inner: Executor, cluster: TwoNodes, results_before: int) -> None:
        self._inner, self._results_left = inner, results_before
        self._removal = threading.Thread(target=cluster.remove_second)
        self.wait_seconds_longest = 0.0

    @property
    def capacity(self) -> int:
        return self._inner.capacity

    @property
    def workers(self) -> int:
        return self._inner.workers

    def submit(self, ticket: int, job: Job) -> None:
        self._inner.submit(ticket, job)

    def next_finished(self) -> Finished:
        if self._results_left == 0:
            self._removal.start()
        self._results_left -= 1
        begun = monotonic()
        finished = self._inner.next_finished()
        self.wait_seconds_longest = max(self.wait_seconds_longest, monotonic() - begun)
        return finished

    def drop_waiting(self) -> None:
        self._inner.drop_waiting()

    def close(self) -> None:
        self._inner.close()
        self._removal.join()


@pytest.fixture
def cluster() -> Iterator[TwoNodes]:
    ray = pytest.importorskip("ray", reason="the extra ray is not installed")
    found = TwoNodes()
    try:
        ray.init(address=found.address, log_to_driver=False, logging_level="ERROR")
        yield found
    finally:
        ray.shutdown()
        found.close()


def test_a_study_that_loses_a_node_finds_the_same_within_the_delay(cluster: TwoNodes) -> None:
    here = Study(make_plan(), InlineExecutor(refund_bench())).run()

    for results_before in MOMENTS:
        cluster.add_second()
        lines: list[str] = []
        pool = RayExecutor(refund_bench, workers=2, warn=lines.append)
        losing = LosesNode(pool, cluster, results_before)
        try:
            there = Study(make_plan(), losing).run()
            deadline = monotonic() + DELAY_SECONDS_MAX
            while not lines and monotonic() < deadline:  # the study may end before Ray notices the loss
                pool.submit(0, Job(make_plan().tasks[0].id, 0, EMPTY))
                pool.next_finished()
        finally:
            losing.close()

        assert (there.digest, there.trials, there.executions) == (here.digest, here.trials, here.executions)
        assert [str(one.certificate) for one in there.searches] == [str(one.certificate) for one in here.searches]
        assert losing.wait_seconds_longest < DELAY_SECONDS_MAX
        assert any("a Ray worker is lost and replaced" in line for line in lines)
