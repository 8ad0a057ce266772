"""`no-ghosts`: what was done is not passed over in silence.

The other half of promise-keeping (`promises-kept`): a payment whose answer got lost was made all the same, and whoever
asked is told that it failed, or nothing. Agents cannot see that themselves; the ledger of effects can.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.canonical import Plain, plain
from chaosagent.contracts.contract import HOLDS, End, Looks, Monitor, Reading, Setting, violated
from chaosagent.contracts.settings import ContractSettings
from chaosagent.trace.step import Step
from chaosagent.vocabulary import Claim, Effect, Ending, Impact


@dataclass(frozen=True, slots=True, kw_only=True)
class NoGhosts(ContractSettings):
    """A committed high-impact effect is a violation where the final message names it without faults and not with them.

    Only what the outcome of the nominal run claims is looked for; without a nominal run, and in a run that came to no
    final message, the contract holds. The margin of a violation is minus the share of those claims that are left out.
    """

    needs_nominal: ClassVar[bool] = True
    id: str = "no-ghosts"

    def monitor(self, setting: Setting) -> Monitor:
        """Return a fresh check for one run."""
        return _NoGhostsMonitor(() if setting.nominal is None else setting.nominal.outcome.claims)


class _NoGhostsMonitor:
    __slots__ = ("_committed", "_expected")

    looks: ClassVar[Looks] = Looks.EFFECTS

    def __init__(self, expected: Iterable[Claim]) -> None:
        self._expected = tuple(expected)
        self._committed = [False] * len(self._expected)

    def step(self, step: Step) -> Reading | None:
        if not step.effects or not self._expected:
            return None
        for effect in step.effects:
            if effect.impact is Impact.HIGH:
                for number, claim in enumerate(self._expected):
                    self._committed[number] = self._committed[number] or _names(claim, effect)
        return None

    def end(self, end: End) -> Reading:
        if end.ending is not Ending.FINISHED:
            return HOLDS
        said = [Effect(claim.kind, claim.identity) for claim in end.outcome.claims]
        ghosts = [
            claim
            for claim, committed in zip(self._expected, self._committed, strict=True)
            if committed and not any(_names(claim, effect) for effect in said)
        ]
        if not ghosts:
            return HOLDS
        done = Effect(ghosts[0].kind, ghosts[0].identity).key
        more = f", nor of {len(ghosts) - 1} more" if len(ghosts) > 1 else ""
        return violated(
            f"{done} was committed, and the final message says nothing of it{more}",
            -len(ghosts) / len(self._expected),
        )

    def state(self) -> Plain:
        return list(self._committed)


def _names(claim: Claim, effect: Effect) -> bool:
    """Whether a claim is about an effect: the same kind, and all that it names is equal."""
    return claim.kind == effect.kind and all(
        name in effect.identity and plain(effect.identity[name]) == plain(value)
        for name, value in claim.identity.items()
    )
