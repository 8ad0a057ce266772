"""R(B) of a study: how many tasks are still done when faults may cost up to B."""

from __future__ import annotations

from collections.abc import Sequence

from chaosagent.canonical import Plain
from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.faults.evaluation import Fingerprinting
from chaosagent.metrics.random_curve import DRAWS, levels_of, random_curve, random_runs, without_estimates
from chaosagent.metrics.robustness import adversarial_curve
from chaosagent.report.findings import Findings
from chaosagent.report.plots import Robustness
from chaosagent.study.evaluator import Evaluator


def robustness_of(found: Findings, *, draws: int = DRAWS) -> Robustness:
    """Return R(B) of a study: from its searches against the objective, and under random schedules.

    Args:
        found: A finished study; the runs under random schedules are made in this process.
        draws: Random schedules for each task, seed and level of the budget.
    """
    plan = found.plan
    evaluator = Evaluator(InlineExecutor(plan.workbench()), Fingerprinting.OFF)
    made = random_runs(plan, evaluator, levels_of(plan), draws=draws)
    drawn = random_curve(made, plan.budget, stochastic=found.result.nature.stochastic)
    adversarial = adversarial_curve(found.result.searches, plan.budget)
    return Robustness(plan.config.name, adversarial, without_estimates(drawn, adversarial))


def curves_json(curves: Sequence[Robustness]) -> dict[str, Plain]:
    """Return R(B) by configuration as plain data."""
    return {
        robustness.name: {
            "adversarial": robustness.adversarial.to_json(),
            "random": None if robustness.random is None else robustness.random.to_json(),
        }
        for robustness in curves
    }
