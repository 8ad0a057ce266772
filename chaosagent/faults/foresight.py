"""What a policy would do, as far as executed runs tell."""

from __future__ import annotations

import math
from typing import NamedTuple

from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.injection import Injection, hook_at
from chaosagent.faults.observer import acts_of, injected_in, observations_of
from chaosagent.faults.online import Player, Scores


class _Run(NamedTuple):
    """An executed run, and how many crossings it asked before its next injection."""

    until: float
    evaluation: Evaluation


class Foresight:
    """Executed runs of one task and seed, by what was injected one after the other.

    A policy that chooses at each crossing of a run what the run's schedule has there would make that very run: up to
    the first difference both see the same. So a policy need not be run where such a run is known, and a study that goes
    on after its process has died needs no memory of policies.
    """

    def __init__(self) -> None:
        self._runs: dict[tuple[Injection, ...], _Run] = {}

    def add(self, evaluation: Evaluation) -> None:
        """Take an executed run, unless no policy could have made it: one with a burst, or with what was not reached."""
        if evaluation.status is not Status.OK:
            return
        by_place = injected_in(evaluation)
        if len(by_place) != len(evaluation.schedule) or any(
            injection.hook != hook_at(place) for place, injection in by_place.items()
        ):
            return
        asked = [crossing for crossing, is_answer in acts_of(evaluation) if not is_answer]
        before: tuple[Injection, ...] = ()
        for rank, crossing in enumerate(asked):
            chosen = by_place.get(crossing.place)
            if chosen is not None:
                self._keep(before, _Run(rank, evaluation))
                before = (*before, chosen)
        self._keep(before, _Run(math.inf, evaluation))

    def _keep(self, before: tuple[Injection, ...], run: _Run) -> None:
        known = self._runs.get(before)
        if known is None or known.until < run.until:
            self._runs[before] = run

    def of(self, scores: Scores) -> Evaluation | None:
        """Return the run that a policy would make, `None` when it is not known."""
        player = Player(scores)
        run = self._runs.get(())
        begin = 0
        while run is not None:
            diverged = False
            for rank, (seen, _) in enumerate(observations_of(run.evaluation)):
                if rank < begin:
                    continue
                before = len(player.chosen)
                player.choose(seen)
                if len(player.chosen) > before:
                    run, begin, diverged = self._runs.get(tuple(player.chosen)), rank + 1, True
                    break
                if rank >= run.until:
                    return None
            if not diverged:
                return run.evaluation if run is not None and run.until == math.inf else None
        return None
