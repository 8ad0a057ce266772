"""`least-privilege`: an agent does only what it has leave to do.

Source: base template "least privilege" (capability set K_i and parameter allow-list). The mediator can enforce the
same; this contract tells when it did not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from chaosagent.canonical import Plain, plain
from chaosagent.contracts.contract import HOLDS, End, Monitor, Reading, Setting, violated
from chaosagent.contracts.pattern import StepPattern, acts, step_pattern
from chaosagent.contracts.settings import BROKEN, ContractSettings, check_texts, settle
from chaosagent.errors import UsageError
from chaosagent.trace.step import Step
from chaosagent.vocabulary import Boundary

_THINKING = frozenset({Boundary.MODEL, Boundary.PROMPT})


@dataclass(frozen=True, slots=True, kw_only=True)
class LeastPrivilege(ContractSettings):
    """An action that an agent is not allowed is a violation; a blocked one is none.

    What an agent does at models and prompts needs no leave: that is how it thinks.

    Attributes:
        allowed: By agent, the step patterns of what it may do: `{"reader": ["orders.get_*", "kb.*"]}`.
        parameters: By step pattern and argument, the values that are allowed:
            `{"payments.refund": {"currency": ["EUR"]}}`; an action that lacks the argument is a violation.
        others: What an agent that `allowed` does not name may do: `"anything"` or `"nothing"`.
    """

    id: str = "least-privilege"
    allowed: Mapping[str, str | tuple[str, ...]]
    parameters: Mapping[str, Mapping[str, tuple[Plain, ...]]] = field(default_factory=dict)
    others: str = "anything"

    def __post_init__(self) -> None:
        ContractSettings.__post_init__(self)
        settle(self, allowed=_check_allowed(self.id, self.allowed))
        settle(self, parameters=_check_parameters(self.id, self.parameters))
        if self.others not in ("anything", "nothing"):
            raise UsageError(f"{self.id}(others={self.others!r}): others must be 'anything' or 'nothing'.")

    def monitor(self, setting: Setting) -> Monitor:  # noqa: ARG002  # the protocol's
        """Return a fresh check for one run."""
        leave = {agent: step_pattern(tuple(texts)) for agent, texts in self.allowed.items()}
        values = [(step_pattern((text,)), allowed) for text, allowed in self.parameters.items()]
        return _LeastPrivilegeMonitor(leave, values, None if self.others == "anything" else step_pattern(()))


class _LeastPrivilegeMonitor:
    __slots__ = ("_broken", "_leave", "_others", "_values")

    def __init__(
        self,
        leave: dict[str, StepPattern],
        values: list[tuple[StepPattern, Mapping[str, tuple[Plain, ...]]]],
        others: StepPattern | None,
    ) -> None:
        self._leave, self._values, self._others = leave, values, others
        self._broken = False

    def step(self, step: Step) -> Reading | None:
        allowed = self._leave.get(step.agent, self._others)
        if (allowed is None or allowed(step)) and not self._values:
            return None
        if step.boundary in _THINKING or not acts(step):
            return None
        if allowed is not None and not allowed(step):
            self._broken = True
            return violated(f"{step.agent or 'the agent'} may not {step.operation} at {step.interface}")
        return self._judge_values(step)

    def _judge_values(self, step: Step) -> Reading | None:
        for means, allowed in self._values:
            if not means(step):
                continue
            arguments = step.arguments
            for name, values in allowed.items():
                if name not in arguments or plain(arguments[name]) not in values:
                    self._broken = True
                    return violated(
                        f"{step.operation} at {step.interface} with {name}={arguments.get(name)!r:.80}; "
                        f"allowed are {', '.join(map(repr, values))}"
                    )
        return None

    def end(self, end: End) -> Reading:  # noqa: ARG002  # the protocol's
        return HOLDS

    def state(self) -> Plain:
        return BROKEN if self._broken else None


def _check_allowed(contract: str, allowed: object) -> dict[str, tuple[str, ...]]:
    if not isinstance(allowed, Mapping):
        raise UsageError(f"{contract}(allowed={allowed!r}): allowed must be a mapping from agents to step patterns.")
    checked = {agent: check_texts(contract, f"allowed[{agent!r}]", texts) for agent, texts in allowed.items()}
    for texts in checked.values():
        step_pattern(texts)
    return checked


def _check_parameters(contract: str, parameters: object) -> dict[str, dict[str, tuple[Plain, ...]]]:
    known = isinstance(parameters, Mapping) and all(
        isinstance(values, Mapping) and all(isinstance(value, list | tuple) for value in values.values())
        for values in parameters.values()
    )
    if not known:
        raise UsageError(
            f"{contract}(parameters={parameters!r}): parameters must map step patterns to arguments, and these to "
            "lists of values, such as {'payments.refund': {'currency': ['EUR']}}."
        )
    assert isinstance(parameters, Mapping)
    for text in parameters:
        step_pattern((text,))
    return {
        text: {name: tuple(plain(value) for value in values) for name, values in arguments.items()}
        for text, arguments in parameters.items()
    }
