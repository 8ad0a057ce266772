"""Settings that every contract has, and how settings are checked."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.contracts.contract import Contract
from chaosagent.errors import UsageError
from chaosagent.vocabulary import Severity

BROKEN = "violated"
"""The state of a monitor whose contract is violated: that is final, nothing else matters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractSettings:
    """What every contract template has.

    Attributes:
        id: Unique in a study; give another one to use a template twice.
        severity: Only a violated hard contract makes a counterexample.
        weight: The α of the weighted step score, 0 or more.
        requires: A contract that must hold for a violation to count; where it is violated too, the violation is unfair.
        semantics: Version of what a template says. Raise it where equal settings judge some trace otherwise than
            before: replays then ask for a review.
    """

    semantics: ClassVar[int] = 1

    id: str
    severity: Severity = Severity.HARD
    weight: float = 1.0
    requires: Contract | None = None

    def __post_init__(self) -> None:
        check_contract_settings(self.id, self.severity, self.weight, self.requires)


def check_contract_settings(id: object, severity: object, weight: object, requires: object) -> None:  # noqa: A002  # the field
    """Check what every contract has; raises `UsageError` where it is not allowed."""
    if not isinstance(id, str) or not id:
        raise UsageError(f"contract with id={id!r}: the id must be a text that is not empty.")
    if not isinstance(severity, Severity):
        raise UsageError(f"{id}(severity={severity!r}): severity must be 'hard' or 'soft'.")
    if not isinstance(weight, int | float) or isinstance(weight, bool) or not 0 <= weight < math.inf:
        raise UsageError(f"{id}(weight={weight!r}): weight must be a number, 0 or more.")
    if requires is not None and not isinstance(requires, Contract):
        raise UsageError(f"{id}(requires={requires!r}): requires must be a contract, or in a study file its name.")


def check_whole(contract: str, name: str, value: object, least: int = 1) -> int:
    """Return a setting that must be a whole number of at least `least`; raises `UsageError` otherwise."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise UsageError(f"{contract}({name}={value!r}): {name} must be a whole number, {least} or more.")
    return value


def check_share(contract: str, name: str, value: object) -> float:
    """Return a setting that must be a number in [0, 1]; raises `UsageError` otherwise."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
        raise UsageError(f"{contract}({name}={value!r}): {name} must be a number from 0 to 1.")
    return float(value)


def check_texts(contract: str, name: str, value: object, least: int = 0) -> tuple[str, ...]:
    """Return a setting that must be a text or several, as a tuple; raises `UsageError` otherwise."""
    if isinstance(value, str):
        value = (value,)
    if not isinstance(value, Iterable) or isinstance(value, dict | bytes):
        raise UsageError(f"{contract}({name}={value!r}): {name} must be a text or a list of texts.")
    texts = tuple(value)
    if not all(isinstance(text, str) and text for text in texts):
        raise UsageError(f"{contract}({name}={value!r}): every entry of {name} must be a text, not empty.")
    if len(texts) < least:
        raise UsageError(f"{contract}({name}={value!r}): {name} must have {least} or more entries.")
    return texts


def settle(contract: object, **values: object) -> None:
    """Put checked settings into a frozen contract while it is being made."""
    for name, value in values.items():
        object.__setattr__(contract, name, value)
