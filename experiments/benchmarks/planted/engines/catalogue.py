"""All engines by name.

Another one is attached with a function `(arena, rng)` in a file of its own and a line here; what only it needs is
imported inside that function.
"""

from __future__ import annotations

from collections.abc import Mapping

from chaosagent.experiments.benchmarks.planted.engines.covering_arrays import covering_arrays
from chaosagent.experiments.benchmarks.planted.engines.dense_draws import dense_draws
from chaosagent.experiments.benchmarks.planted.engines.engine import Engine, ddmin, minimised
from chaosagent.experiments.benchmarks.planted.engines.sparse_draws import sparse_draws

ENGINES: Mapping[str, Engine] = {
    "sparse-draws": sparse_draws,
    "dense-ddmin": dense_draws(ddmin),
    "dense-minimise": dense_draws(minimised),
    "covering-ddmin": covering_arrays(ddmin),
    "covering-minimise": covering_arrays(minimised),
}
"""Functions that search an arena."""
