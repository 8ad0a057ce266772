"""`objective` on outcomes that are a success, none, or unknown."""

from __future__ import annotations

import pytest

from chaosagent.contracts.templates.objective import Objective
from chaosagent.testing.steps import make_end, watch
from chaosagent.vocabulary import Ending, Outcome, Verdict


@pytest.mark.parametrize(
    ("ending", "success", "verdict"),
    [
        (Ending.FINISHED, True, Verdict.HOLDS),
        (Ending.FINISHED, False, Verdict.VIOLATED),
        (Ending.FINISHED, None, Verdict.UNKNOWN),
        (Ending.CRASHED, None, Verdict.VIOLATED),
        (Ending.DEADLOCK, None, Verdict.VIOLATED),
    ],
)
def test_only_a_success_holds(ending: Ending, success: bool | None, verdict: Verdict) -> None:
    assert watch(Objective(), [], make_end(ending, Outcome(success=success)))[-1].verdict is verdict
