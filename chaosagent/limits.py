"""Limits: everything that could run for ever has one, and it has a name."""

from __future__ import annotations

from dataclasses import dataclass, replace

RUNS_MAX = 1_000_000
"""Most runs that a caller may ask for with one number, inclusive."""

WORKERS_MAX = 256
"""Most worker processes of one search, inclusive; each is a Python process with the target in it."""


@dataclass(frozen=True, slots=True)
class RunLimits:
    """What one run may use before it is ended.

    Attributes:
        steps_max: Steps of the trace. Reaching it is non-termination, a verdict.
        turns_max: Turns of the event loop without any time passing. Reaching it is a livelock: the target polls
            without waiting.
        turns_total_max: Turns of the event loop in the whole run, for a target that polls with next to no waiting.
        virtual_seconds_max: Virtual time of a run, in seconds.
        payload_bytes_max: Canonical bytes of one request or response.
        wall_seconds_max: Real time of a run, in seconds. Only executors with worker processes can enforce it.
        memory_megabytes_max: Resident memory of the process that runs it, target and all, in units of 10⁶ bytes. Only
            executors with worker processes can enforce it.
    """

    steps_max: int = 2_000
    turns_max: int = 100_000
    turns_total_max: int = 1_000_000
    virtual_seconds_max: float = 7 * 86_400.0
    payload_bytes_max: int = 4_000_000
    wall_seconds_max: float = 60.0
    memory_megabytes_max: int = 4_000

    @property
    def extended(self) -> RunLimits:
        """The limits of the second run that a schedule gets when it has reached one: `EXTENSION` times as much.

        The limits of real time, memory and payloads stay.
        """
        return replace(
            self,
            steps_max=EXTENSION * self.steps_max,
            turns_max=EXTENSION * self.turns_max,
            turns_total_max=EXTENSION * self.turns_total_max,
            virtual_seconds_max=EXTENSION * self.virtual_seconds_max,
        )


EXTENSION = 10
"""How many times its limits a run is given before what it would still do counts as unknown."""


@dataclass(frozen=True, slots=True)
class StudyLimits:
    """What one search, for one (task, seed, contract), may use.

    Attributes:
        trials_max: Trials told to one searcher.
        seconds_max: Real time of the whole study in seconds, over all its sessions; `None` for no limit.
        until: The time of day, such as `"08:00"`, at which a session ends, by the clock of this machine;
            `None` for no such end.
        error_share_max: The study stops when more than this share of a search's trials, and at least 20, end as errors.
    """

    trials_max: int = 2_000
    seconds_max: float | None = None
    error_share_max: float = 0.2
    until: str | None = None
