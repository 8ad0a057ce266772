"""R(B) of a study: how many tasks are still done when faults may cost up to B."""

from __future__ import annotations

from collections.abc import Sequence

from chaosagent.canonical import Plain
from chaosagent.execution.workers.executor import InlineExecutor
from chaosagent.metrics.robustness import adversarial_curve, random_curve
from chaosagent.report.findings import Findings
from chaosagent.report.plots import Robustness

LEVELS = 11
DRAWS = 20


def robustness_of(found: Findings, *, draws: int = DRAWS) -> Robustness:
    """Return R(B) of a study: from its searches against the objective, and under random schedules.

    Args:
        found: A finished study; the runs under random schedules are made in this process.
        draws: Random schedules for each task, seed and level of the budget.
    """
    plan = found.plan
    budgets = [round(plan.budget * number / LEVELS, 6) for number in range(1, LEVELS + 1)]
    # Below the cost of a hook nothing can be injected, and there is nothing to draw.
    budgets = [budget for budget in budgets if budget >= plan.space.model.c_hook] or [plan.budget]
    drawn = random_curve(plan, InlineExecutor(plan.workbench()), budgets, draws=draws)
    return Robustness(plan.config.name, adversarial_curve(found.result.searches, plan.budget), drawn)


def curves_json(curves: Sequence[Robustness]) -> dict[str, Plain]:
    """Return R(B) by configuration as plain data."""
    return {
        robustness.name: {
            "adversarial": robustness.adversarial.to_json(),
            "random": None if robustness.random is None else robustness.random.to_json(),
        }
        for robustness in curves
    }
