"""A model takes long, or never comes to an end."""

from __future__ import annotations

from dataclasses import dataclass

from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Choice, Levels, OperatorDefaults, parameter
from chaosagent.vocabulary import Failure


@dataclass(frozen=True, slots=True)
class Slow(OperatorDefaults):
    """The model takes long to answer, or never comes to an end.

    Attributes:
        kind: `delayed` (the answer arrives late) or `stalled` (it never arrives, and the client gives up).
        seconds: Virtual seconds until the answer, or until the client gives up.
    """

    name = "model.slow"
    by_default = False

    kind: str = parameter("delayed", Choice("delayed", "stalled"))
    seconds: float = parameter(60.0, Levels(60.0, limits=(0.001, 86_400.0)))

    @property
    def magnitude(self) -> float:
        """As of a delay: half at a minute; one if nothing comes."""
        return 1.0 if self.kind == "stalled" else self.seconds / (self.seconds + 60.0)

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        await crossing.sleep(self.seconds)
        if self.kind == "delayed":
            return response
        return Response(failure=Failure("timeout", f"the model did not answer within {self.seconds:g} s"))

    def describe(self) -> str:
        return (
            f"the model takes {self.seconds:g} s longer"
            if self.kind == "delayed"
            else f"the model never answers; given up after {self.seconds:g} s"
        )
