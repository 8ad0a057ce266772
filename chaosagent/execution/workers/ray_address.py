"""The address of a cluster of Ray."""

from __future__ import annotations

import socket

from chaosagent.errors import StudyError

ANSWER_SECONDS_MAX = 5.0


def check_answers(address: str) -> None:
    """Refuse the address of a Ray cluster where nobody listens; Ray itself tries for a minute, and fills the screen.

    Args:
        address: `host:port`, `ray://host:port`; anything else, such as `auto`, is left to Ray.

    Raises:
        StudyError: Nobody listens there.
    """
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=ANSWER_SECONDS_MAX).close()
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise StudyError(
            f"Ray does not answer at {address} ({why}). Start a cluster there with `ray start --head`, or correct the "
            "address."
        ) from error
