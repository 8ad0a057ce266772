"""The state of a live run that passages, checkpoints and network links share."""

from __future__ import annotations

import random

from chaosagent.errors import TargetError
from chaosagent.execution.doors import LiveDoor, Mailbox
from chaosagent.execution.failures import RunEnded
from chaosagent.execution.frozen import Frozen
from chaosagent.execution.recorder import Recorder
from chaosagent.faults.dry import RecordedCrossing
from chaosagent.faults.evaluation import Act, Fingerprint
from chaosagent.governance.mediator import Mediator
from chaosagent.virtual_time import VirtualLoop
from chaosagent.vocabulary import SystemConfig, Task
from chaosagent.wall import WallLoop


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
    """

    def __init__(
        self, task: Task, config: SystemConfig, seed: int, *, loop: VirtualLoop | WallLoop, recorder: Recorder
    ) -> None:
        self.task, self.config, self.seed = task, config, seed
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
