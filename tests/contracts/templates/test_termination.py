"""`termination` on runs that end and runs that do not."""

from __future__ import annotations

import pytest

from chaosagent.contracts.templates.termination import Termination
from chaosagent.testing.steps import make_end, watch
from chaosagent.vocabulary import Ending, Verdict


@pytest.mark.parametrize("ending", [Ending.FINISHED, Ending.CRASHED])
def test_a_run_that_comes_to_an_end_holds(ending: Ending) -> None:
    assert watch(Termination(), [], make_end(ending))[-1].verdict is Verdict.HOLDS


@pytest.mark.parametrize("ending", [Ending.DEADLOCK, Ending.LIVELOCK, Ending.STEP_LIMIT, Ending.TIME_LIMIT])
def test_a_run_that_had_to_be_ended_is_a_violation_that_says_how(ending: Ending) -> None:
    last = watch(Termination(), [], make_end(ending, detail="nothing is ready"))[-1]

    assert last.verdict is Verdict.VIOLATED
    assert last.reason == f"the run did not terminate: {ending.value}: nothing is ready"


def test_the_margin_is_the_share_of_the_step_limit_that_was_left() -> None:
    assert watch(Termination(steps_max=40), [], make_end(step_count=10))[-1].margin == 0.75
    assert watch(Termination(steps_max=40), [], make_end(step_count=50))[-1].margin == 0.0
