"""`ordering`: one thing comes before another.

Source: base template "ordering".
"""

from __future__ import annotations

from dataclasses import dataclass

from chaosagent.contracts.contract import Monitor, Setting
from chaosagent.contracts.monitors import SinceWatch
from chaosagent.contracts.pattern import answered, step_pattern
from chaosagent.contracts.settings import ContractSettings, check_texts, check_whole, settle


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordering(ContractSettings):
    """A step that `then` means, with none before it that `first` means, is a violation.

    Attributes:
        first: Step patterns of what must come first; it counts when it got an answer and no failure.
        then: Step patterns of what must come after.
        same: Names of arguments in which both must agree.
        steps: How many steps earlier it may be at the most; `None` for any number.
    """

    id: str = "ordering"
    first: str | tuple[str, ...]
    then: str | tuple[str, ...]
    same: str | tuple[str, ...] = ()
    steps: int | None = None

    def __post_init__(self) -> None:
        ContractSettings.__post_init__(self)
        if self.steps is not None:
            check_whole(self.id, "steps", self.steps)
        for name in ("first", "then"):
            texts = check_texts(self.id, name, getattr(self, name), least=1)
            step_pattern(texts)
            settle(self, **{name: texts})
        settle(self, same=check_texts(self.id, "same", self.same))

    def monitor(self, setting: Setting) -> Monitor:  # noqa: ARG002  # the protocol's
        """Return a fresh check for one run."""
        first, then = answered(step_pattern(tuple(self.first))), step_pattern(tuple(self.then))
        return SinceWatch(then, first, self.steps, tuple(self.same))
