"""Built-in targets and studies, each with its README, study file and measurements."""

from __future__ import annotations

from collections.abc import Mapping

from chaosagent.targets.loading import DeferredTarget

# A second import under another name would make a second copy of every class.
if __name__ != "chaosagent.experiments":
    raise ImportError(
        f"This package was imported as {__name__!r}; its only name is `chaosagent.experiments`. "
        "The folder experiments/ just keeps its files. Write `import chaosagent.experiments`, "
        "after `pip install -e .` in the checkout."
    )

SUITES = ("banking", "slack", "travel", "workspace")
"""Those of AgentDojo."""


def entries() -> Mapping[str, DeferredTarget]:
    """Return the built-in targets by name; none is imported."""
    found = {
        "refund": DeferredTarget(
            f"{__name__}.refund.target:refund_agent", "The smallest example: an agent that can pay twice"
        ),
        "night-shift": DeferredTarget(
            f"{__name__}.night_shift.target:night_shift", "Two agents of a warehouse who hand over work by night"
        ),
        "triage": DeferredTarget(f"{__name__}.triage.target:TRIAGE", "A customer-support triage assistant"),
    }
    for suite in SUITES:
        found[f"dojo-{suite}"] = DeferredTarget(
            f"{__name__}.dojo.target:{suite}", f"AgentDojo's {suite} suite (extra dojo)"
        )
        found[f"dojo-reader-{suite}"] = DeferredTarget(
            f"{__name__}.dojo.closed_loop.target:{suite}",
            f"AgentDojo's {suite} suite with an agent that decides by what it reads (extra dojo)",
        )
    return found
