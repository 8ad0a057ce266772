"""What a study file may say: keys, types and bounds."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from chaosagent.faults.operator import COST_DECIMALS
from chaosagent.limits import RunLimits
from chaosagent.study.searcher import DEFAULT_SEARCHER


def _time_of_day(value: object) -> object:
    """Return a time of day."""
    if isinstance(value, str) and re.fullmatch(r"([01]?[0-9]|2[0-3]):[0-5][0-9]", value) is None:
        raise ValueError("it must be a time of day, such as '08:00'")
    return value


Seed = Annotated[int, Field(ge=0, lt=10**100)]
Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Probability = Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)]
TimeOfDay = Annotated[str, BeforeValidator(_time_of_day)]
Amount = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class CostSettings(_Strict):
    """The weights of Eq. 8. A hook must cost something when it is rounded, or injections could be added for nothing."""

    c_tokens: Weight = 0.01
    c_hook: Annotated[float, Field(ge=10**-COST_DECIMALS, allow_inf_nan=False)] = 1.0
    c_mag: Weight = 0.1


class SearchSettings(_Strict):
    """Who searches, and for how long; see `Plan` and `StudyLimits`."""

    searcher: str = DEFAULT_SEARCHER
    settings: dict[str, object] = {}
    seed: Seed = 0
    lookahead: Annotated[int, Field(ge=1, le=1024)] = 1
    trials: Annotated[int, Field(ge=1, le=100_000_000)] = 2_000
    speculate: bool | None = None
    seconds: Amount | None = None
    until: TimeOfDay | None = None
    audit: Annotated[int, Field(ge=0, le=100_000)] = 16
    confirmations: Annotated[int, Field(ge=1, le=100_000)] = 200
    alpha: Probability = 0.05
    beta: Probability = 0.05
    difference: Probability = 0.2
    all_minimal: bool = False
    signatures: Annotated[int, Field(ge=1, le=100_000)] | None = None
    error_share: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 0.2


class RunSettings(_Strict):
    """What one run may use; see `RunLimits`."""

    steps: Annotated[int, Field(ge=1, le=10_000_000)] = RunLimits().steps_max
    turns: Annotated[int, Field(ge=1, le=1_000_000_000)] = RunLimits().turns_max
    turns_total: Annotated[int, Field(ge=1, le=1_000_000_000)] = RunLimits().turns_total_max
    virtual_seconds: Amount = RunLimits().virtual_seconds_max
    wall_seconds: Amount = RunLimits().wall_seconds_max
    memory_megabytes: Annotated[int, Field(ge=1, le=1_000_000_000)] = RunLimits().memory_megabytes_max


class StudySettings(_Strict):
    """Everything that a study file may say."""

    target: Annotated[str, Field(min_length=1)]
    config: str | None = None
    tasks: Annotated[list[str], Field(min_length=1)] | None = None
    seeds: Annotated[list[Seed], Field(min_length=1, max_length=100_000)] = [0]
    contracts: Annotated[list[object], Field(min_length=1)] = ["default"]
    budget: Weight = 3.0
    cost: CostSettings = CostSettings()
    operators: Annotated[list[object], Field(min_length=1)] | None = None
    stochastic: bool | None = None
    fresh: bool = False
    allow: list[Annotated[str, Field(min_length=1)]] = []
    search: SearchSettings = SearchSettings()
    run: RunSettings = RunSettings()
