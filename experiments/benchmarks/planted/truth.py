"""Checks that a planted minimum is one: by running every cheaper schedule, but for those that two plain rules spare.

Rule R1 adds injections in the order in which they act, which reaches every schedule all of whose injections land; rule
R2 spares an injection whose outcome, to the agent and to the world, is known to equal that of a cheaper one at the same
point. Neither looks at the state of the target, as R3 does. Where it is affordable, R2 is left out, too.

Run: python -m chaosagent.experiments.benchmarks.planted.truth [FAMILY ...] [--r1-only]
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass

from chaosagent.experiments.benchmarks.planted.arena import EQUAL, job_of, workbench_of
from chaosagent.experiments.benchmarks.planted.family import CERTAIN, KEPT, Planted
from chaosagent.faults.evaluation import Fingerprinting
from chaosagent.searchers.proof.uniform_cost import ExactSearcher
from chaosagent.study.searcher import Problem
from chaosagent.study.shrinking.minimise import violates

PLAIN = {"R1": {"r2": False, "r3": False}, "R1 R2": {"r3": False}, "R1 R2 R3": {}}
"""Rules, the plainest first."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What was found out about the least cost of a violation.

    Attributes:
        minimum: The least cost; `None` when nothing within the budget violates.
        rules: The plainest set of rules with which that was affordable.
        executions: With these.
    """

    minimum: float | None
    rules: str
    executions: int


class TooDearError(Exception):
    """A proof took more executions than were allowed."""


def prove(planted: Planted, executions_max: int, rules: Sequence[str] = tuple(PLAIN)) -> Proof:
    """Return the least cost of a violation with the plainest rules that are affordable.

    Raises:
        TooDearError: Not even with the last of the rules.
    """
    for name in rules:
        with contextlib.suppress(TooDearError):
            return proved(planted, name, executions_max)
    raise TooDearError(f"not with {executions_max} executions")


def proved(planted: Planted, rules: str, executions_max: int) -> Proof:
    """Return the least cost of a violation, found in the order of cost with some rules.

    Raises:
        TooDearError: It takes more executions.
    """
    workbench = workbench_of(planted)

    depth = Fingerprinting.STATE if "R3" in rules else Fingerprinting.OFF
    problem = Problem(KEPT.id, 0, planted.space, planted.budget, seed=0)
    searcher = ExactSearcher(problem, **PLAIN[rules])
    least, executions = float("inf"), 0
    while not searcher.finished:
        for proposal in searcher.ask(1):
            if executions >= executions_max:
                raise TooDearError(f"{rules}: not with {executions_max} executions")
            evaluation = workbench.evaluate(job_of(proposal.schedule)._replace(fingerprinting=depth))
            executions += 1
            if violates(evaluation, KEPT.id):
                least = min(least, evaluation.effective.declared_cost(planted.space.model))
            searcher.tell(evaluation)
    if searcher.progress.lower_bound < min(least, planted.budget) - EQUAL:
        raise TooDearError(f"{rules}: the proof ends at {searcher.progress.lower_bound:g}")
    return Proof(None if least == float("inf") else least, rules, executions)


def main(arguments: Sequence[str] | None = None) -> None:
    """Prove the minima of some families and print how dear that was."""
    from chaosagent.experiments.benchmarks.planted.catalogue import FAMILIES  # they need nothing of this file

    parser = argparse.ArgumentParser(prog="python -m chaosagent.experiments.benchmarks.planted.truth")
    parser.add_argument("family", nargs="*", metavar="FAMILY", help="all when left out")
    parser.add_argument("--r1-only", action="store_true", help="without rule R2; hundreds of thousands of executions")
    parser.add_argument("--seed", type=int, default=0, help="of the layout")
    options = parser.parse_args(arguments)
    for name in options.family or FAMILIES:
        family = FAMILIES[name]
        proof = proved(family.planted(options.seed, chance=CERTAIN), "R1" if options.r1_only else "R1 R2", 10**7)
        print(f"{name}: {proof.minimum}, claimed {family.minimum}, {proof.rules}, {proof.executions}", flush=True)


if __name__ == "__main__":
    main()
