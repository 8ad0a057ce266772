"""What happens inside a worker process: it runs the jobs that come through its pipe, one after the other.

Its messages, each a pickle: first `Ready` or a `StudyError`, then one `Answer` for each job, in the order of the jobs.
It is sent lists of jobs with their tickets, or `None`: forget what has not begun, and answer `Dropped`.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import select
import sys
from collections import deque
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import NamedTuple, TypeAlias

from chaosagent.clock import monotonic
from chaosagent.errors import StudyError
from chaosagent.execution.captured_output import CapturedOutput
from chaosagent.execution.workers.memory_limit import peak_megabytes, raise_oom_score
from chaosagent.execution.workers.process_tree import end_with_parent, ignore_interrupts
from chaosagent.execution.workers.workbench import Job, Workbench, failed_evaluation
from chaosagent.faults.evaluation import Evaluation

Batch: TypeAlias = list[tuple[int, Job]]


class Ready(NamedTuple):
    """The target is loaded."""


class Dropped(NamedTuple):
    """What had not begun is forgotten; the jobs that had are answered before this."""


class Answer(NamedTuple):
    """What became of one job.

    Attributes:
        ticket: Of the job.
        evaluation: What it told; `None` when the process has used more memory than it may, and ends.
        seconds: Real time that it took.
        megabytes: Largest resident memory so far; rough as long as it is within the limit.
        printed_bytes: What the target printed meanwhile; nobody sees it.
    """

    ticket: int
    evaluation: Evaluation | None
    seconds: float
    megabytes: float
    printed_bytes: int


def work(pipe: Connection, setup: bytes, megabytes_max: float) -> None:
    """Run jobs until the pipe closes; the whole life of a worker process.

    Args:
        pipe: To the executor.
        setup: Pickle of a function that makes the workbench.
        megabytes_max: Resident memory that the process may have, in units of 10⁶ bytes.
    """
    _settle()
    printed = CapturedOutput(sys.stderr, bytes_max=0)
    sys.stdout = sys.stderr = printed.stream()
    try:
        workbench: Workbench = pickle.loads(setup)()
        workbench.megabytes_max = megabytes_max
    except Exception as error:  # the worker is a seam: what keeps it from starting is told to the study
        pipe.send_bytes(pickle.dumps(StudyError(f"{type(error).__name__}: {error}")))
        return
    try:
        pipe.send_bytes(pickle.dumps(Ready()))
        _serve(pipe, workbench.evaluate, megabytes_max, printed)
    except (EOFError, OSError, KeyboardInterrupt):
        return  # the executor has closed the pipe


def _settle() -> None:
    """Make the process one that can be killed with all it starts, and that does not outlive the study."""
    os.setsid()  # Ctrl-C reaches the study and not the workers; and who is killed is killed with what it started
    ignore_interrupts()
    multiprocessing.current_process().daemon = False  # a target may have processes of its own, as it may elsewhere
    raise_oom_score()
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        os.dup2(nowhere.fileno(), 1)  # what a target prints must not reach the study's own output
    end_with_parent()


def _serve(
    pipe: Connection, evaluate: Callable[[Job], Evaluation], megabytes_max: float, printed: CapturedOutput
) -> None:
    waiting: deque[tuple[int, Job]] = deque()
    poll = select.poll()
    poll.register(pipe.fileno(), select.POLLIN)
    while True:
        while not waiting or poll.poll(0):
            batch: Batch | None = pickle.loads(pipe.recv_bytes())
            if batch is None:
                waiting.clear()
                pipe.send_bytes(pickle.dumps(Dropped()))
            else:
                waiting.extend(batch)
        ticket, job = waiting.popleft()
        begun, printed_before = monotonic(), printed.left_out
        try:
            evaluation = evaluate(job)
        except KeyboardInterrupt:  # the keyboard is far away: the target has raised it
            evaluation = failed_evaluation(job.schedule, "the target raised KeyboardInterrupt")
        except SystemExit as error:  # an objective's, say; told in the words that the command line has for it
            end = f"the target has ended the program with sys.exit({error.code!r}). Let it return."
            evaluation = failed_evaluation(job.schedule, end)
        seconds, megabytes = monotonic() - begun, peak_megabytes(megabytes_max)
        told = evaluation if megabytes <= megabytes_max else None
        answer = Answer(ticket, told, seconds, megabytes, printed.left_out - printed_before)
        pipe.send_bytes(pickle.dumps(answer, protocol=pickle.HIGHEST_PROTOCOL))
        if answer.evaluation is None:
            return
