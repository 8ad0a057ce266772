"""What contracts say of a stored trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chaosagent.canonical import Plain
from chaosagent.contracts.contract import Contract, Nominal, Setting, end_of
from chaosagent.execution.run.recorder import Monitors
from chaosagent.trace.trace import ContractVerdict, Trace
from chaosagent.vocabulary import Task


def judge(
    trace: Trace,
    contracts: Sequence[Contract],
    task: Task,
    nominal: Nominal | None,
    *,
    ended: bool = True,
    settings: Mapping[str, Plain] | None = None,
) -> tuple[ContractVerdict, ...]:
    """Return what contracts say of a stored trace.

    Monitors see what is stored: of a target that declares secrets, the redacted values.

    Args:
        trace: Of one run; it is not changed.
        contracts: In the order of the verdicts.
        task: What was asked, with its labels.
        nominal: What the run without injections did, `None` when the trace is that run itself.
        ended: The trace has its end; otherwise what no step violates is unknown.
        settings: Of the configuration, for contracts that look at them.

    Raises:
        PluginError: A contract raised something.
    """
    watch = Monitors(contracts, Setting(task, nominal, settings or {}))
    for step in trace.steps:
        if watch.of_effects if step.effects else watch.of_every_step:
            step.show(None, step.answer)
            try:
                watch.step(step)
            finally:
                step.seal()
    if not ended:
        return watch.cut_off()
    last_agent = next((step.agent for step in reversed(trace.steps) if step.agent), "")
    return watch.end(
        end_of(trace.ending, trace.ending_detail, trace.outcome, len(trace.steps), trace.exceeded), last_agent
    )
