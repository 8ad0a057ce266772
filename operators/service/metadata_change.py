"""Times, versions or ids in the answer of a service are off."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass

from chaosagent.canonical import Plain
from chaosagent.faults.crossing import Crossing, Proceed, Response
from chaosagent.faults.operator import Levels, OperatorDefaults, parameter
from chaosagent.operators.fields import METADATA_NAMES, fields, is_number, with_values
from chaosagent.operators.words import Words

_ISO_8601 = re.compile(r"\d{4}-\d{2}-\d{2}([T ].{5,30})?", re.ASCII)
_LAST_DIGITS = re.compile(r"\d{1,18}(?=\D*$)", re.ASCII)
_UNITS = {"version": "number", "id": "number", "time": "day", "clock": "minute", "zone": "hour"}
_NAMED = {"version": "version", "id": "id", "time": "time", "clock": "time", "zone": "time"}
_SECONDS = {"time": 86_400, "clock": 60, "zone": 3_600}
# Epochs count seconds or milliseconds; in milliseconds, this is September 2001.
_MILLISECONDS_FROM = 1_000_000_000_000


@dataclass(frozen=True, slots=True)
class MetadataChange(OperatorDefaults):
    """What says how fresh an answer is, or what it belongs to, is off; the facts themselves are right.

    All fields of the kind are changed alike, as by a clock that is off or a mixed-up correlation.

    Attributes:
        kind: `time` (fields like `updated_at`, `timestamp`, `date`: other days), `version` (`version`, `revision`,
            `etag`), `id` (`id`, `order_id`: the neighbouring one), `clock` (times, by minutes, as of a clock that is
            wrong) or `zone` (times, by hours, as of another time zone that nothing tells).
        direction: `later` (newer, the next one) or `earlier`.
        steps: How far: days, minutes or hours of a time, numbers of a version or id.
    """

    name = "service.metadata_change"

    kind: str = parameter("time", Words("version", "time", "id", also=("clock", "zone")))
    direction: str = parameter("later", Words("later", also=("earlier",)))
    steps: int = parameter(1, Levels(1, limits=(1, 365)))

    @property
    def magnitude(self) -> float:
        """From 0.25 for one step to 0.5 for 365."""
        return 0.25 + 0.25 * (self.steps - 1) / 364

    async def apply(self, crossing: Crossing, proceed: Proceed) -> Response:
        response = await proceed(crossing.request)
        steps = self.steps if self.direction == "later" else -self.steps
        return response._replace(
            value=with_values(
                response.value,
                {
                    field.path: self._moved(field.value, steps)
                    for field in fields(response.value)
                    if METADATA_NAMES[_NAMED[self.kind]].fullmatch(field.name)
                },
            )
        )

    def describe(self) -> str:
        unit = _UNITS[self.kind] + ("s" if self.steps > 1 else "")
        return f"every {_NAMED[self.kind]} in the answer is {self.steps} {unit} {self.direction}"

    def _moved(self, value: Plain, steps: int) -> Plain:
        seconds = _SECONDS.get(self.kind)
        return _moved_number(value, steps) if seconds is None else _moved_time(value, steps * seconds)


def _moved_time(value: Plain, seconds: int) -> Plain:
    if isinstance(value, str):
        is_date = len(value) == len("2026-01-31")
        if _ISO_8601.fullmatch(value) is None or (is_date and seconds % _SECONDS["time"]):
            return value  # a date without a time of day has no hours
        try:
            moment = datetime.datetime.fromisoformat(value)
            moved = moment + datetime.timedelta(seconds=seconds)
        except (ValueError, OverflowError):
            return value
        if is_date:
            return moved.date().isoformat()
        text = moved.isoformat(sep=value[10])
        return text.removesuffix("+00:00") + "Z" if value.endswith("Z") else text
    if is_number(value):
        return value + seconds * (1_000 if abs(value) >= _MILLISECONDS_FROM else 1)
    return value


def _moved_number(value: Plain, steps: int) -> Plain:
    if isinstance(value, str):
        return _LAST_DIGITS.sub(lambda found: str(max(0, int(found[0]) + steps)).zfill(len(found[0])), value, 1)
    if is_number(value):
        return value + steps
    return value
