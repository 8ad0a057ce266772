"""All engines by name.

Another one is attached with a function `(arena, rng)` in a file of its own and a line here; what only it needs is
imported inside that function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from chaosagent.experiments.benchmarks.planted.engines.covering_arrays import covering_arrays
from chaosagent.experiments.benchmarks.planted.engines.dense_draws import dense_draws
from chaosagent.experiments.benchmarks.planted.engines.engine import Engine, Reduce, ddmin, minimised
from chaosagent.experiments.benchmarks.planted.engines.evolution import nevergrad
from chaosagent.experiments.benchmarks.planted.engines.falsifier import bandit, cross_entropy, halton
from chaosagent.experiments.benchmarks.planted.engines.genetic import genetic
from chaosagent.experiments.benchmarks.planted.engines.illumination import illumination
from chaosagent.experiments.benchmarks.planted.engines.installing import installed
from chaosagent.experiments.benchmarks.planted.engines.nsga2 import nsga2
from chaosagent.experiments.benchmarks.planted.engines.property_based import property_based
from chaosagent.experiments.benchmarks.planted.engines.sparse_draws import sparse_draws
from chaosagent.experiments.benchmarks.planted.engines.tpe import tpe
from chaosagent.extras import require

PACKAGES: Mapping[str, tuple[str, str]] = {
    "optuna-tpe": ("optuna", "search"),
    "optuna-nsga2": ("optuna", "search"),
    "deap-ga": ("deap", "search"),
    "hypothesis-target": ("hypothesis", "testing"),
    "verifai-ce": ("verifai", ""),
    "verifai-halton": ("verifai", ""),
    "verifai-bandit": ("verifai", ""),
    "nevergrad-ngopt": ("nevergrad", ""),
    "pyribs-cma-mae": ("ribs", ""),
}
"""What engines from outside need, and which extra of the package brings it; none is `""`."""

_OUTSIDE: Mapping[str, Callable[[Reduce | None], Engine]] = {
    "optuna-tpe": tpe,
    "optuna-nsga2": nsga2,
    "deap-ga": genetic,
    "hypothesis-target": property_based,
    "verifai-ce": cross_entropy,
    "verifai-halton": halton,
    "verifai-bandit": bandit,
    "nevergrad-ngopt": nevergrad,
    "pyribs-cma-mae": illumination,
}
MINIMISED = "-minimise"

ENGINES: Mapping[str, Engine] = {
    "sparse-draws": sparse_draws,
    "dense-ddmin": dense_draws(ddmin),
    "dense-minimise": dense_draws(minimised),
    "covering-ddmin": covering_arrays(ddmin),
    "covering-minimise": covering_arrays(minimised),
    **{name: make(None) for name, make in _OUTSIDE.items()},
    **{name + MINIMISED: make(minimised) for name, make in _OUTSIDE.items()},
}


def from_outside(name: str) -> bool:
    """Whether an engine is a package of others, alone or with our minimiser behind it."""
    return name.removesuffix(MINIMISED) in PACKAGES


def check_installed(name: str) -> None:
    """Import what an engine needs.

    Raises:
        UsageError: It is not installed; the message says the command that installs it.
    """
    package, extra = PACKAGES.get(name.removesuffix(MINIMISED), ("", ""))
    if extra:
        require(package, extra=extra, needed_by=f"--searcher {name}")
    elif package:
        installed(package, needed_by=f"--searcher {name}")
