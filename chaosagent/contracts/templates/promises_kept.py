"""`promises-kept`: what the final message claims was done was done.

Source: failure class F2 (unsupported claims), for claims on effects: each needs a committed effect of its kind whose
identity contains what the claim names.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import ClassVar

from chaosagent.canonical import Plain, plain
from chaosagent.contracts.contract import HOLDS, End, Looks, Monitor, Reading, Setting, violated
from chaosagent.contracts.settings import ContractSettings
from chaosagent.trace.step import Step
from chaosagent.vocabulary import Effect


@dataclass(frozen=True, slots=True, kw_only=True)
class PromisesKept(ContractSettings):
    """A claim of the outcome without a committed effect is a violation.

    The margin of a violation is minus the share of the claims that nothing stands behind.
    """

    id: str = "promises-kept"

    def monitor(self, setting: Setting) -> Monitor:  # noqa: ARG002  # the protocol's
        """Return a fresh check for one run."""
        return _PromisesKeptMonitor()


class _PromisesKeptMonitor:
    __slots__ = ("_committed",)

    looks: ClassVar[Looks] = Looks.EFFECTS

    def __init__(self) -> None:
        self._committed: list[Effect] = []

    def step(self, step: Step) -> Reading | None:
        if step.effects:
            self._committed.extend(step.effects)
        return None

    def end(self, end: End) -> Reading:
        claims = end.outcome.claims if end.has_outcome else ()  # who says nothing promises nothing
        if not claims:
            return HOLDS
        identities: dict[str, list[Mapping[str, Plain]]] = {}
        for effect in self._committed:
            identities.setdefault(effect.kind, []).append(_plain(effect.identity))
        broken = [
            claim
            for claim in claims
            if not any(_contains(identity, _plain(claim.identity)) for identity in identities.get(claim.kind, ()))
        ]
        if not broken:
            return HOLDS
        claimed = Effect(broken[0].kind, broken[0].identity).key
        more = f", and {len(broken) - 1} more" if len(broken) > 1 else ""
        meant = _meant(broken[0].kind, identities)
        return violated(
            f"the final message claims {claimed}, which was not committed{meant}{more}", -len(broken) / len(claims)
        )

    def state(self) -> Plain:
        return [*sorted({effect.key for effect in self._committed})]


def _meant(kind: str, committed: Collection[str]) -> str:
    """Return a hint when no effect of a kind was committed, but one whose name ends alike: `pay` and `bank.pay`."""
    if kind in committed:
        return ""
    last = kind.rpartition(".")[2]
    alike = sorted(other for other in committed if other.rpartition(".")[2] == last)
    return f" ({alike[0]} was: did you mean that?)" if alike else ""


def _plain(identity: Mapping[str, Plain]) -> Mapping[str, Plain]:
    """Return an identity in which lists and tuples are the same."""
    return {name: plain(value) for name, value in identity.items()}


def _contains(identity: Mapping[str, Plain], claimed: Mapping[str, Plain]) -> bool:
    return all(name in identity and identity[name] == value for name, value in claimed.items())
