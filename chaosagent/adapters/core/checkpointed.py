"""Doors that take checkpoints, for rule R3; see `chaosagent.adapters.checkpoints`."""

from __future__ import annotations

from abc import ABC, abstractmethod

from chaosagent.adapters.checkpoints import World
from chaosagent.adapters.doors import FrameworkDoors
from chaosagent.canonical import Plain


class Checkpointed(ABC):
    """The doors of an adapter whose framework keeps nothing between two requests to a model but their messages.

    Attributes:
        doors: The doors of the run.
    """

    doors: FrameworkDoors

    def take_checkpoints(self, world: World, *, clock_matters: bool = True) -> None:
        """Take a checkpoint whenever a model is about to be asked, so that searches need fewer runs.

        Args:
            world: Returns the state of the world and of the program around the agents, as plain data;
                `chaosagent.adapters.checkpoints` says what it must hold.
            clock_matters: The rest of the run depends on the time; if not, a delay leaves nothing behind.
        """
        self.doors.take_checkpoints(world, clock_matters=clock_matters, kept=self.kept)

    @abstractmethod
    def kept(self) -> Plain:
        """Return what the framework and its adapter keep beside messages."""
