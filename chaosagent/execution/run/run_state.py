"""The state that the parts of a run share, and the checkpoints that are taken of it."""

from __future__ import annotations

import contextlib
import os
import random
from collections.abc import Iterator

from chaosagent.canonical import digest_of, pack, plain
from chaosagent.effects.ledger import Ledger
from chaosagent.errors import TargetError
from chaosagent.event_loop.real_time_loop import RealTimeLoop
from chaosagent.event_loop.virtual_time import VirtualLoop
from chaosagent.execution.failures import RunEnded
from chaosagent.execution.run.actor import ACTING
from chaosagent.execution.run.doors import LiveDoor
from chaosagent.execution.run.frozen import Frozen
from chaosagent.execution.run.own_worlds import Mailbox
from chaosagent.execution.run.recorder import Recorder
from chaosagent.faults.dry import RecordedCrossing
from chaosagent.faults.evaluation import Act, Fingerprint
from chaosagent.governance.mediator import Mediator
from chaosagent.vocabulary import SystemConfig, Task

RECORD_DEPTH = 6
"""Levels that a replay record puts around an outcome; they count against the depth that plain data may have."""


class RunState:
    """What has happened in a run so far, and its limits.

    Args:
        task: The task instance.
        config: The configuration.
        seed: Of the run.
        loop: Its time.
        recorder: Of its steps.

    Attributes:
        crossings: The places at which an injection could have acted.
        fingerprints: Those taken at the target's checkpoints.
        acts: The injections that landed, in the order in which they began to act.
        position: Of what acted last, among everything that acts: asks and answers of the world, counted from 1.
        over: The target has ended; nothing crosses any more.
        frozen: The answers that pure interfaces repeat; `None` when nothing is frozen.
        ledger: Knows which idempotent effects were committed.
        has_read_seed: The target or an operator has asked for the seed, or may have, so that the run may depend on it.
    """

    def __init__(
        self, task: Task, config: SystemConfig, seed: int, *, loop: VirtualLoop | RealTimeLoop, recorder: Recorder
    ) -> None:
        self.task, self.config, self._seed = task, config, seed
        self.has_read_seed = False
        self.loop, self.recorder = loop, recorder
        self.payload_bytes_max = recorder.limits.payload_bytes_max
        self.crossings: list[RecordedCrossing] = []
        self.fingerprints: list[Fingerprint] = []
        self.acts: list[Act] = []
        self.over = False
        self.doors: dict[str, LiveDoor] = {}
        self.mailboxes: dict[str, Mailbox] = {}
        self.streams: dict[str, random.Random] = {}
        self.mediator: Mediator | None = None
        self.frozen: Frozen | None = None
        self.position = 0
        self.ledger = Ledger()

    @property
    def seed(self) -> int:
        """Of the run; who asks for it, or draws from what follows from it, makes the run one of this seed."""
        self.has_read_seed = True
        return self._seed

    def __copy__(self) -> RunState:
        """Return the run itself: there is one, and what its copy read nobody would note."""
        return self

    @property
    def is_faulty(self) -> bool:
        """Whether a fault has landed by now."""
        return bool(self.acts)

    def too_large(self, interface: str, size: int) -> BaseException:
        """Return what ends the run: as inconclusive once a fault has landed, else as a mistake in the target."""
        text = (
            f"a payload of {size} bytes crosses {interface}; the limit is {self.payload_bytes_max} "
            "(payload_bytes_max of RunLimits; no study file sets it). Hand over less."
        )
        if not self.is_faulty:
            return TargetError(f"A{text[1:]}")
        self.recorder.conclude(text)
        return RunEnded(text)

    def rejected(self, text: str) -> Exception:
        """Return what is raised for something that a run cannot take.

        Before any fault has landed the run is what the nominal one is, so it is a mistake in the target, and nothing
        comes of the run. After that it is how the target behaves under a fault, which it may handle.
        """
        return TypeError(text) if self.is_faulty else self.recorder.refuse(TargetError(text))


_UNDER_WAY: list[RunState] = []


@contextlib.contextmanager
def notes_forks(run: RunState) -> Iterator[None]:
    """Count the seed as read when a `with` block forks, as nobody here sees what the child reads."""
    _UNDER_WAY.append(run)
    try:
        yield
    finally:
        _UNDER_WAY.remove(run)


def _note_fork() -> None:
    for run in _UNDER_WAY:
        run.has_read_seed = True


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing forks
    os.register_at_fork(after_in_parent=_note_fork)


def state_at(
    run: RunState,
    place: str,
    state: object,
    numbers: list[int],
    *,
    clock_matters: bool,
    artifacts_matter: bool,
    with_history: bool,
) -> bytes:
    """Return the canonical bytes of what the future depends on, apart from the monitors.

    Args:
        run: At a moment when no call is pending and no timer set.
        place: Of the target's program.
        state: Of the target and its world.
        numbers: On which the order of tasks depends that will be made; see `task_order`.
        clock_matters: Whether the future depends on the time.
        artifacts_matter: Whether it depends on the ids of what was delivered last.
        with_history: Whether it depends on earlier exchanges, as it does when operators read them.

    Raises:
        UsageError: `state` is not plain data.
    """
    doors, mediator = sorted(run.doors.items()), run.mediator
    everything: list[object] = [
        place,
        ACTING.get(),
        plain(state),
        run.loop.time() if clock_matters else None,
        numbers,
        [[name, sorted(door.counts.items()), door.content()] for name, door in doors],
        [[name, list(door.history)] for name, door in doors] if with_history else [],
        [[name, digest_of(repr(stream.getstate()))] for name, stream in sorted(run.streams.items())],
        [[name, mailbox.content()] for name, mailbox in sorted(run.mailboxes.items())],
        [] if mediator is None else [mediator.state()],
        run.recorder.links,
        run.recorder.artifacts if artifacts_matter else None,
        *([written] if (written := run.ledger.state()) else []),
    ]
    return pack(everything)
