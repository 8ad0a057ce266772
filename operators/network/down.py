"""The server cannot be reached."""

from __future__ import annotations

from dataclasses import dataclass

from chaosagent.faults.crossing import Crossing, Proceed, Response, Toxic
from chaosagent.faults.operator import OperatorDefaults
from chaosagent.operators.toxics import disturbed


@dataclass(frozen=True, slots=True)
class Down(OperatorDefaults):
    """Every connection is closed, and none can be made, until the call has ended."""

    name = "network.down"
    description = "no connection to the server, neither an old one nor a new one"

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        toxic = Toxic("down", "")
        return await disturbed(crossing, proceed, toxic)
