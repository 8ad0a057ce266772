"""All that the future of a run depends on, when it depends on nothing of the target but what the target hands over."""

from __future__ import annotations

from chaosagent.canonical import digest_of, pack, plain
from chaosagent.execution.acting import ACTING
from chaosagent.execution.run_state import RunState


def everything_at(
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
    ]
    return pack(everything)
