"""`@pytest.mark.chaosagent_trials`: a test that passes by chance is run until it is known how often."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from chaosagent.errors import UsageError
from chaosagent.statistics.sequential import confidence_sequence

TRIALS_MAX = 1_000_000
UNSUPPORTED = "async def functions are not natively supported"
"""What pytest says of a test that no plug-in can run; that is no trial."""


def run_trials(item: pytest.Function, trial: Callable[[], object], marker: pytest.Mark) -> None:
    """Run a test until an interval for its probability to pass lies on one side of the threshold, or to the last trial.

    The interval holds at every number of trials at once, so stopping by it is sound. Fixtures are made once.

    Args:
        item: The test.
        trial: Runs it once.
        marker: Says how often it has to pass.

    """
    wrong = ""
    try:
        threshold, trials, confidence = _arguments(*marker.args, **marker.kwargs)
    except (UsageError, TypeError) as error:
        wrong = str(error).replace("_arguments()", "chaosagent_trials()")
    if wrong:
        pytest.fail(wrong, pytrace=False)
    passed, why = 0, ""
    for made in range(1, trials + 1):
        failure = _failure(trial)
        passed, why = passed + (failure is None), failure or why
        interval = confidence_sequence(passed, made, confidence=confidence)
        told = f"passed in {passed} of {made} trials, so with probability {interval.low:.2f} to {interval.high:.2f}"
        if interval.low >= threshold:
            item.add_report_section("call", "trials", f"{told}; at least {threshold:g} was asked for")
            return
        if interval.high < threshold:
            pytest.fail(f"{told}; at least {threshold:g} was asked for. The last failure: {why}", pytrace=False)
    raise pytest.skip.Exception(
        f"inconclusive: {told}, which does not tell whether that is at least {threshold:g}. "
        f"Allow more than {trials} trials.",
        _use_item_location=True,
    )


def _failure(trial: Callable[[], object]) -> str | None:
    """Make one trial, and return how it failed."""
    try:
        trial()
    except (Exception, pytest.fail.Exception) as error:
        if UNSUPPORTED in str(error):
            raise
        text = str(error).strip().partition("\n")[0]
        return f"{type(error).__name__}: {text}" if text else type(error).__name__
    return None


def _arguments(threshold: object = None, trials: object = 200, confidence: object = 0.95) -> tuple[float, int, float]:
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0 < threshold < 1:
        raise UsageError(
            f"chaosagent_trials(threshold={threshold!r}): threshold must lie between 0 and 1, such as 0.9: the "
            "probability with which the test has to pass."
        )
    if isinstance(trials, bool) or not isinstance(trials, int) or not 1 <= trials <= TRIALS_MAX:
        raise UsageError(
            f"chaosagent_trials(trials={trials!r}): trials must be a whole number from 1 to {TRIALS_MAX:,}."
        )
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0.5 <= confidence < 1:
        raise UsageError(f"chaosagent_trials(confidence={confidence!r}): confidence must lie between 0.5 and 1.")
    return float(threshold), trials, float(confidence)
