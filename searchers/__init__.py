"""Built-in searchers, one per file."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chaosagent.study.searcher import SearcherFactory

__all__ = ["drawing", "entries", "seen"]

# A second import under another name would make a second copy of every class.
if __name__ != "chaosagent.searchers":
    raise ImportError(
        f"This package was imported as {__name__!r}; its only name is `chaosagent.searchers`. "
        "The folder searchers/ just keeps its files. Write `import chaosagent.searchers`, "
        "after `pip install -e .` in the checkout."
    )


def entries() -> dict[str, SearcherFactory]:
    """Return the built-in searchers by name."""
    from chaosagent.searchers.adversary import AdversarySearcher  # loaded on first use
    from chaosagent.searchers.anytime import anytime
    from chaosagent.searchers.bandit import BanditSearcher
    from chaosagent.searchers.beam import BeamSearcher
    from chaosagent.searchers.diversity import DiversitySearcher
    from chaosagent.searchers.evolutionary import EvolutionarySearcher
    from chaosagent.searchers.exact import certifying
    from chaosagent.searchers.hypothesis import HypothesisSearcher
    from chaosagent.searchers.random import RandomSearcher
    from chaosagent.searchers.tpe import TpeSearcher

    return {
        "adversary": AdversarySearcher,
        "anytime": anytime,
        "bandit": BanditSearcher,
        "beam": BeamSearcher,
        "diversity": DiversitySearcher,
        "evolutionary": EvolutionarySearcher,
        "exact": certifying,
        "hypothesis": HypothesisSearcher,
        "random": RandomSearcher,
        "tpe": TpeSearcher,
    }
