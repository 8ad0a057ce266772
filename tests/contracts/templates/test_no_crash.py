"""`no-crash` on runs with and without an exception of the target."""

from __future__ import annotations

import pytest

from chaosagent.contracts.templates.no_crash import NoCrash
from chaosagent.testing.steps import make_end, watch
from chaosagent.vocabulary import Ending, Verdict


def test_a_crash_is_a_violation_with_the_exception_as_its_reason() -> None:
    last = watch(NoCrash(), [], make_end(Ending.CRASHED, detail="KeyError: 'id'"))[-1]

    assert (last.verdict, last.reason) == (Verdict.VIOLATED, "KeyError: 'id'")


@pytest.mark.parametrize("ending", [ending for ending in Ending if ending is not Ending.CRASHED])
def test_every_other_ending_holds(ending: Ending) -> None:
    assert watch(NoCrash(), [], make_end(ending))[-1].verdict is Verdict.HOLDS
