"""The queue between a study and its executor: everybody gets a share, and nothing is lost."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from chaosagent.execution.workers.executor import Finished
from chaosagent.execution.workers.fair_queue import FairQueue
from chaosagent.execution.workers.workbench import Job, failed_evaluation
from chaosagent.faults.evaluation import Fingerprinting
from chaosagent.faults.schedule import EMPTY


class Recording:
    """Runs nothing, and keeps the order in which jobs came.

    Args:
        capacity: How many jobs it has at most.
    """

    def __init__(self, capacity: int = 1) -> None:
        self.capacity, self.workers, self.most = capacity, 1, 0
        self.order: list[str] = []
        self._waiting: list[int] = []

    def submit(self, ticket: int, job: Job) -> None:
        self.order.append(job.task_id)
        self._waiting.append(ticket)
        self.most = max(self.most, len(self._waiting))

    def next_finished(self) -> Finished:
        return Finished(self._waiting.pop(0), failed_evaluation(EMPTY, ""))

    def drop_waiting(self) -> None:
        self._waiting.clear()

    def close(self) -> None:
        self._waiting.clear()


def job(task: str) -> Job:
    return Job(task, 0, EMPTY, Fingerprinting.STATE)


def order_of(queue: FairQueue, executor: Recording, jobs: str) -> str:
    for ticket, task in enumerate(jobs):
        queue.submit(ticket, job(task))
    for _ in jobs:
        queue.next_finished()
    return "".join(executor.order)


def test_tasks_take_turns_whoever_came_first() -> None:
    executor = Recording()

    assert order_of(FairQueue(executor), executor, "aaaaaabbbccc") == "abcabcabcaaa"


def test_weights_are_shares() -> None:
    executor = Recording()
    queue = FairQueue(executor)
    queue.weigh(("a", 0), 1.0)
    queue.weigh(("b", 0), 0.25)

    order = order_of(queue, executor, "a" * 400 + "b" * 400)

    assert 0.24 <= order[:400].count("b") / order[:400].count("a") <= 0.26


def test_who_has_waited_for_nothing_saves_no_turns() -> None:
    executor = Recording()
    queue = FairQueue(executor)
    for ticket in range(100):
        queue.submit(ticket, job("a"))
    for _ in range(50):
        queue.next_finished()
    for ticket in range(100, 120):
        queue.submit(ticket, job("b"))
    for _ in range(20):
        queue.next_finished()

    assert 9 <= Counter(executor.order[-20:])["b"] <= 11


def test_what_somebody_waits_for_goes_first() -> None:
    executor = Recording()
    queue = FairQueue(executor)
    for ticket, task in enumerate("aaaabb"):
        queue.submit(ticket, job(task))

    queue.next_finished(("b", 0))

    assert executor.order[:3] == ["a", "b", "b"]


@given(st.lists(st.sampled_from("abcd"), min_size=1, max_size=40), st.integers(1, 5), st.data())
def test_each_job_comes_back_once_and_the_executor_has_no_more_than_it_can_use(
    tasks: list[str], capacity: int, data: st.DataObject
) -> None:
    executor = Recording(capacity)
    queue = FairQueue(executor)
    told: list[int] = []
    for ticket, task in enumerate(tasks):
        queue.submit(ticket, job(task))
        if len(told) <= ticket and data.draw(st.booleans()):
            told.append(queue.next_finished().ticket)
    told += [queue.next_finished().ticket for _ in range(len(tasks) - len(told))]

    assert sorted(told) == list(range(len(tasks)))
    assert executor.most <= capacity
