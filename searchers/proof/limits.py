"""How near to its limits a run may come for rule R3 to be sound.

R3 has a run stand for others that come to the same state, and a state does not tell how many steps, how much time and
how many turns of the event loop were used up before it. So a run that is never made may be longer than the one that
stands for it, and come to a limit that no executed run has met.

It is longer by what its schedule used up before the state, less what the other had used: by at most one executed run.
Each injection can bring a run to the state of another twice: as one that is foreseen, and as one behind which another
has been searched. What several runs foresee part by part counts as one where these have used no more together than one
may; else it is run. So with `n` injections that the budget allows, it is at most `1 + 2n` times as long as the longest
run that was executed, and comes to no limit while none of those has used so large a part of one.
"""

from __future__ import annotations

from chaosagent.faults.operator import COST_TOLERANCE
from chaosagent.study.searcher import Problem

INJECTIONS_MAX = 1_000


def limit_share_max(problem: Problem) -> float:
    """Return the share of a limit that a run may use for rule R3 to be sound, in (0, 1]."""
    cheapest = max(problem.space.cost_min, COST_TOLERANCE)
    count = min(INJECTIONS_MAX, int((problem.budget + COST_TOLERANCE) / cheapest))
    return 1.0 / (1 + 2 * count)
