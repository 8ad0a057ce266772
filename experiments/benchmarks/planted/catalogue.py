"""All families of the benchmark, in the order of its tables."""

from __future__ import annotations

from chaosagent.experiments.benchmarks.planted.families.chance_pair import chance_pair
from chaosagent.experiments.benchmarks.planted.families.chance_single import chance_single
from chaosagent.experiments.benchmarks.planted.families.disjoint import disjoint
from chaosagent.experiments.benchmarks.planted.families.magnitudes import magnitudes
from chaosagent.experiments.benchmarks.planted.families.pair import pair
from chaosagent.experiments.benchmarks.planted.families.redundant import redundant
from chaosagent.experiments.benchmarks.planted.families.retry import retry
from chaosagent.experiments.benchmarks.planted.families.robust import robust
from chaosagent.experiments.benchmarks.planted.families.single import single
from chaosagent.experiments.benchmarks.planted.families.sparse import sparse
from chaosagent.experiments.benchmarks.planted.families.staged import staged
from chaosagent.experiments.benchmarks.planted.families.text import text
from chaosagent.experiments.benchmarks.planted.families.triple import triple
from chaosagent.experiments.benchmarks.planted.family import Family

FAMILIES = {
    family.name: family
    for family in (
        Family("single", single, 21, 14, 1.005),
        Family("pair", pair, 23, 14, 2.01),
        Family("triple", triple, 21, 14, 3.405),
        Family("retry", retry, 19, 14, 4.0198),
        Family("staged", staged, 13, 14, 3.21),
        Family("magnitudes", magnitudes, 9, 23, 2.55),
        Family("text", text, 21, 14, 2.15),
        Family("chance-single", chance_single, 21, 14, 1.005),
        Family("chance-pair", chance_pair, 7, 5, 2.01),
        Family("sparse", sparse, 40, 14, 2.4),
        Family("redundant", redundant, 18, 14, 3.015),
        Family("robust", robust, 14, 14, None),
        Family("disjoint", disjoint, 16, 14, 2.01),
    )
}
"""Rows by name."""
