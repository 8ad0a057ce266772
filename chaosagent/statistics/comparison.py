"""Tests that compare two shares."""

from __future__ import annotations

from math import comb

from chaosagent.errors import UsageError


def fisher_greater(successes: int, trials: int, other_successes: int, other_trials: int) -> float:
    """Return the one-sided p-value that a share is no greater than another one.

    Args:
        successes: How many of the trials succeeded.
        trials: How many there were.
        other_successes: The same of the other share.
        other_trials: The same of the other share.

    Returns:
        The probability of so many successes or more among the `trials`, were both shares equal; in [0, 1].

    Raises:
        UsageError: There are more successes than trials, or fewer than none.

    Source: Fisher's exact test, from the hypergeometric distribution.
    """
    if not (0 <= successes <= trials and 0 <= other_successes <= other_trials):
        raise UsageError(
            f"fisher_greater({successes}, {trials}, {other_successes}, {other_trials}): successes must be from 0 to "
            "trials."
        )
    together = successes + other_successes
    ways = sum(
        comb(trials, count) * comb(other_trials, together - count)
        for count in range(successes, min(trials, together) + 1)
    )
    return ways / comb(trials + other_trials, together)
