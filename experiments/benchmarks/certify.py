"""How many executions a certificate costs, with each rule on and off, and how long they take.

Run: python -m chaosagent.experiments.benchmarks.certify
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

from chaosagent.clock import monotonic
from chaosagent.contracts.catalogue import default_contracts
from chaosagent.contracts.contract import Contract
from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.execution.workers.workbench import Workbench
from chaosagent.experiments.benchmarks.measuring import machine
from chaosagent.faults.space import Choices, Space
from chaosagent.limits import StudyLimits
from chaosagent.study.loop.study import Study
from chaosagent.study.plan import Plan
from chaosagent.targets.loading import load_target

TRIALS_MAX = 20_000
REFUND = (
    Choices("service.field_corruption", {}, interfaces=("service:tokens",)),
    Choices("service.error_status", {}),
    Choices("service.timeout", {}),
    Choices("service.lost_response", {}),
)
TRIAGE = (
    Choices("service.timeout", {"when": ("after",), "seconds": (30.0,)}),
    Choices("service.error_status", {"status": (503,), "retry_after": (0.0,), "when": ("before",)}),
    Choices("service.stale_response", {}),
    Choices("memory.stale_read", {}),
)


class Planted(NamedTuple):
    """A known minimum to be found and proved."""

    target: str
    task: str
    contract: str
    choices: tuple[Choices, ...]
    budget: float


PLANTED = (
    Planted("refund", "late-parcel", "at-most-once", (), 2.2),
    Planted("refund", "late-parcel", "at-most-once", REFUND, 2.2),
    Planted("triage", "refund-damaged", "at-most-once", TRIAGE, 3.4),
    Planted("triage", "large-refund", "at-most-once", TRIAGE, 3.4),
)


def certify(planted: Planted, rules: dict[str, bool]) -> str:
    """Search for one planted minimum and return a line of the table."""
    target = load_target(planted.target)
    contract: Contract = next(known for known in default_contracts() if known.id == planted.contract)
    plan = Plan(
        target=target,
        target_reference=planted.target,
        config=target.config("naive"),
        tasks=(target.task(planted.task),),
        seeds=(0,),
        contracts=(contract,),
        space=Space(planted.choices),
        budget=planted.budget,
        searcher="exact",
        searcher_settings=dict(rules),
        limits=StudyLimits(trials_max=TRIALS_MAX),
        audit=0,
    )
    begun = monotonic()
    result = Study(plan, InlineExecutor(Workbench(target, plan.config, plan.contracts))).run()
    seconds = monotonic() - begun
    search = result.searches[0]
    cost = "none" if search.counterexample is None else f"{search.counterexample.cost:g}"
    proved = "certified" if search.certificate.certified else f"bound {search.certificate.lower_bound:g}"
    return f"{search.trials:7d}  {cost:>6}  {proved:12}  {seconds:6.2f} s  {search.trials / seconds:7.0f} trials/s"


def main() -> None:
    """Measure and print."""
    print(machine())
    for planted in PLANTED:
        operators = "the usual operators" if not planted.choices else f"{len(planted.choices)} operators"
        print(f"{planted.target}, {planted.task}, {planted.contract}, {operators}, budget {planted.budget:g}")
        for r2, r3 in itertools.product((True, False), repeat=2):
            rules = " ".join(name for name, used in (("R1", True), ("R2", r2), ("R3", r3)) if used)
            print(f"  {rules:9} {certify(planted, {'r2': r2, 'r3': r3})}")


if __name__ == "__main__":
    main()
