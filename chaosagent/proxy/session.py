"""A proxy that runs until somebody ends it, for an agent that is started by hand; a target whose task is to wait."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from chaosagent.errors import TargetError
from chaosagent.proxy.bodies import BodyLimits
from chaosagent.proxy.proxy import Backends, Proxy
from chaosagent.targets.target import Run, Target, target
from chaosagent.vocabulary import Outcome, Task

REFERENCE = "chaosagent.proxy.session:SESSION"
"""How records of a session name their target."""

NAME = "proxy session"
TASK = Task("session")
RUN_ID = "session"
END_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True, slots=True)
class Session:
    """Serves until SIGINT or SIGTERM comes, or an exact replay has differed.

    Attributes:
        behind: What stands behind the proxy.
        bound: Where it listens.
        announce: Is called with the variables that tell an agent where to ask, once they can be used.
        trouble: Is called with each thing that goes wrong behind the proxy, a sentence.
        limits: Of bodies and callers.
    """

    behind: Backends
    bound: socket.socket
    announce: Callable[[Mapping[str, str]], None]
    trouble: Callable[[str], None]
    limits: BodyLimits = field(default_factory=BodyLimits)

    async def __call__(self, _: Task, run: Run) -> Outcome:
        """Wait for the end of the session."""
        proxy = Proxy(run, self.behind, RUN_ID, self.limits)
        proxy.troubles.tell = self.trouble
        loop = asyncio.get_running_loop()
        for number in END_SIGNALS:
            loop.add_signal_handler(number, proxy.over.set)
        try:
            async with proxy.open(self.bound) as variables:
                self.announce(variables)
                await proxy.over.wait()
        finally:
            for number in END_SIGNALS:
                loop.remove_signal_handler(number)
        return Outcome("", success=True)

    def target(self) -> Target:
        """Return the session as a target."""
        return target(name=NAME, tasks=[TASK], clock="wall")(self)


@target(name=NAME, tasks=[TASK], clock="wall")
async def SESSION(_: Task, __: Run) -> Outcome:  # noqa: N802  # a target, as records of sessions name it
    """What an agent asked through `chaosagent proxy`.

    Raises:
        TargetError: Always: the agent is not known.
    """
    raise TargetError(
        "the record is of a session of `chaosagent proxy`, whose agent was started by hand. Replay it with "
        "`chaosagent proxy --replay RECORD` and start the agent again."
    )
