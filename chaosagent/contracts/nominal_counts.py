"""How often the run without injections committed each high-impact effect."""

from __future__ import annotations

from collections import Counter

from chaosagent.contracts.contract import Nominal
from chaosagent.vocabulary import Impact

KEPT_MAX = 256
_kept: dict[int, tuple[Nominal, Counter[str]]] = {}


def nominal_counts(nominal: Nominal) -> Counter[str]:
    """Return the high-impact effects of a nominal run by key, with their numbers; not to be changed.

    Thousands of runs are compared with one nominal run, so the answer is kept with the run it is about.
    """
    found = _kept.get(id(nominal))
    if found is not None and found[0] is nominal:
        return found[1]
    if len(_kept) >= KEPT_MAX:
        _kept.clear()
    counts = Counter(effect.key for effect in nominal.effects if effect.impact is Impact.HIGH)
    _kept[id(nominal)] = nominal, counts
    return counts
