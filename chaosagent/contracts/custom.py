"""Own contracts as decorated functions.

```python
@contract("no-night-refunds", severity="soft")
def no_night_refunds(step: Step) -> str | None:
    if step.operation == "refund" and step.asked_at % 86_400 < 6 * 3600:
        return "a refund between midnight and six"
    return None


@contract("says-something", at_end=True)
def says_something(end: End) -> bool:
    return bool(end.outcome.message)
```

The function stays callable, for its own tests. It must not keep state between calls, which rule R3 could not see; for
that write a `Monitor`, or use the combinators of `chaosagent.contracts.temporal`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Literal, TypeAlias, cast, overload

from chaosagent.canonical import Plain
from chaosagent.contracts.contract import HOLDS, Contract, End, Monitor, Reading, Setting, violated
from chaosagent.contracts.monitors import AtEnd
from chaosagent.contracts.settings import BROKEN, ContractSettings
from chaosagent.errors import UsageError
from chaosagent.trace.step import Step
from chaosagent.vocabulary import Severity

Finding: TypeAlias = bool | str | None
"""`False` or a text that is not empty: violated. `True`, `None` or an empty text: nothing to complain about."""

StepFunction: TypeAlias = Callable[[Step], Finding]
EndFunction: TypeAlias = Callable[[End], Finding]


@overload
def contract(
    id: str,  # the field
    *,
    severity: Severity | Literal["hard", "soft"] = ...,
    weight: float = ...,
    requires: Contract | None = ...,
    at_end: Literal[False] = ...,
) -> Callable[[StepFunction], FunctionContract]: ...


@overload
def contract(
    id: str,  # the field
    *,
    severity: Severity | Literal["hard", "soft"] = ...,
    weight: float = ...,
    requires: Contract | None = ...,
    at_end: Literal[True],
) -> Callable[[EndFunction], FunctionContract]: ...


def contract(
    id: str,  # noqa: A002  # the field
    *,
    severity: Severity | Literal["hard", "soft"] = Severity.HARD,
    weight: float = 1.0,
    requires: Contract | None = None,
    at_end: bool = False,
) -> Callable[[StepFunction], FunctionContract] | Callable[[EndFunction], FunctionContract]:
    """Make a contract of a function that looks at one step, or at the end of the run.

    Args:
        id: Unique in a study.
        severity: Only a violated hard contract makes a counterexample.
        weight: The α of the weighted step score, 0 or more.
        requires: A contract that must hold for a violation to count.
        at_end: The function is given the `End` of the run and not its steps.

    Returns:
        A decorator. The function says `False`, or why in one line, where the contract is violated.

    Raises:
        UsageError: A setting is not allowed; or, when it is called, the function returns something else.
    """
    try:
        grave = Severity(severity)
    except ValueError:
        raise UsageError(f"{id}(severity={severity!r}): severity must be 'hard' or 'soft'.") from None

    def decorate(function: StepFunction | EndFunction) -> FunctionContract:
        if not callable(function):
            raise UsageError(f"@contract({id!r}) stands over {function!r}; put it over a function.")
        return FunctionContract(
            id=id, severity=grave, weight=weight, requires=requires, function=function, at_end=at_end
        )

    return decorate


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionContract(ContractSettings):
    """A contract that a function decides.

    Attributes:
        function: Of a step, or of the end of a run.
        at_end: Which of the two.
    """

    function: StepFunction | EndFunction
    at_end: bool = False

    def __call__(self, looked_at: Step | End) -> Finding:
        """Call the function itself."""
        return cast("Callable[[Step | End], Finding]", self.function)(looked_at)

    def monitor(self, setting: Setting) -> Monitor:  # noqa: ARG002  # the protocol's
        """Return a fresh check for one run."""
        if self.at_end:
            judge = cast(EndFunction, self.function)
            return AtEnd(lambda end: self.reading(judge(end)) or HOLDS)
        return _FunctionMonitor(self)

    def reading(self, finding: Finding) -> Reading | None:
        """Return what the function's answer means; `None` when it has nothing to complain about."""
        if finding is None or finding is True or finding == "":
            return None
        if finding is False:
            return violated(f"{getattr(self.function, '__name__', self.id)} does not hold")
        if isinstance(finding, str):
            return violated(finding)
        raise UsageError(f"contract {self.id!r} returned {finding!r}; it must return a bool, a text or None.")

    def __reduce__(self) -> tuple[object, ...]:
        """Go to a worker by name where the decorator put the contract in the function's place."""
        module, name = getattr(self.function, "__module__", ""), getattr(self.function, "__qualname__", "")
        if _find(module, name) is self:
            return _find, (module, name)
        return _make, (self.id, self.severity, self.weight, self.requires, self.function, self.at_end)


class _FunctionMonitor:
    __slots__ = ("_broken", "_contract", "_function")

    def __init__(self, contract: FunctionContract) -> None:
        self._contract = contract
        self._function = cast(StepFunction, contract.function)
        self._broken = False

    def step(self, step: Step) -> Reading | None:
        finding = self._function(step)
        if finding is None or finding is True:
            return None
        reading = self._contract.reading(finding)
        self._broken = self._broken or reading is not None
        return reading

    def end(self, end: End) -> Reading:  # noqa: ARG002  # the protocol's
        return HOLDS

    def state(self) -> Plain:
        return BROKEN if self._broken else None


def _find(module: str, name: str) -> object:
    """Return what stands under a name in a module; `None` when nothing does."""
    try:
        __import__(module)
        return attrgetter(name)(sys.modules[module])
    except (AttributeError, ImportError, KeyError, ValueError):
        return None


def _make(
    id: str,  # noqa: A002  # the field
    severity: Severity,
    weight: float,
    requires: Contract | None,
    function: StepFunction | EndFunction,
    at_end: bool,  # noqa: FBT001  # as pickled
) -> FunctionContract:
    return FunctionContract(
        id=id, severity=severity, weight=weight, requires=requires, function=function, at_end=at_end
    )
