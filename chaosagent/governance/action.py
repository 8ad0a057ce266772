"""What an agent is about to do, as governance sees it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from chaosagent.canonical import Plain
from chaosagent.vocabulary import Boundary


class Action(NamedTuple):
    """What an agent is about to do.

    Attributes:
        agent: Who acts.
        role: Its role.
        boundary: The class of the interface.
        interface: Such as `"service:payments"`.
        operation: Such as `"refund"`.
        arguments: Not to be changed; a rewrite returns a copy.
    """

    agent: str
    role: str
    boundary: Boundary
    interface: str
    operation: str
    arguments: Mapping[str, Plain]
