"""`verify-before-acting`: what has consequences is checked first.

Source: base template "verify-before-acting": a side-effecting call is preceded by a verifier step within h steps.
"""

from __future__ import annotations

from dataclasses import dataclass

from chaosagent.contracts.contract import Monitor, Setting
from chaosagent.contracts.monitors import SinceWatch
from chaosagent.contracts.pattern import answered, step_pattern
from chaosagent.contracts.settings import ContractSettings, check_texts, check_whole, settle


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyBeforeActing(ContractSettings):
    """An action that no verifier step preceded is a violation.

    The margin is the share of the window that was left at the oldest verification that counted.

    Attributes:
        action: Step patterns of what needs a verification; by default every step with a high-impact effect.
        verifier: Step patterns of what is one, if it got an answer and no failure, or is a note.
        steps: The window h: how many steps earlier it may be at the most, 1 or more.
        same: Names of arguments in which action and verification must agree, such as `order_id`.
    """

    id: str = "verify-before-acting"
    action: str | tuple[str, ...] = ("effect:*",)
    verifier: str | tuple[str, ...] = ("role:verifier",)
    steps: int = 10
    same: str | tuple[str, ...] = ()

    def __post_init__(self) -> None:
        ContractSettings.__post_init__(self)
        check_whole(self.id, "steps", self.steps)
        for name in ("action", "verifier"):
            texts = check_texts(self.id, name, getattr(self, name), least=1)
            step_pattern(texts)
            settle(self, **{name: texts})
        settle(self, same=check_texts(self.id, "same", self.same))

    def monitor(self, setting: Setting) -> Monitor:  # noqa: ARG002  # the protocol's
        """Return a fresh check for one run."""
        action, verifier = step_pattern(tuple(self.action)), answered(step_pattern(tuple(self.verifier)))
        return SinceWatch(action, verifier, self.steps, tuple(self.same))
