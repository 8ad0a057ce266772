"""The searches of one task and seed, one per contract, which may learn from each other's runs."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from chaosagent.study.chance.fresh_runs import FreshRuns
from chaosagent.study.chance.racing import Racer
from chaosagent.study.chance.worlds import usual_world
from chaosagent.study.evaluator import Evaluator
from chaosagent.study.loop.build_certificate import share_contradictions
from chaosagent.study.loop.search import Search
from chaosagent.study.plan import Plan
from chaosagent.study.trial import Trial

TOLD_AT_ONCE = 64
"""After so many trials a group lets the study go on, as with runs of earlier sessions it need not wait for any."""
LOOKED_AT_MAX = 64
"""So many likely schedules are looked at for idle workers; more of them would be too far ahead."""


class SearchGroup:
    """Lets some searches go on until all have ended.

    Where their searchers learn from others, each run of one is told to all: what breaks another contract is found
    there, too, and nothing is asked for twice. They then take turns, one trial each, so that what they learn, and when,
    does not depend on which worker was faster. Otherwise each goes on as soon as one of its own runs has ended.

    Args:
        searches: Of one task and seed.
        on_trial: Called with each trial that was told.

    Attributes:
        at: Task and seed.
        searches: All of them.
        active: Those that have not ended, in their order.
    """

    def __init__(self, searches: Sequence[Search], on_trial: Callable[[Search, Trial], None]) -> None:
        self.at, self._on_trial = searches[0].at, on_trial
        self.searches: tuple[Search, ...] = tuple(searches)
        self._begin(self.searches)

    def _begin(self, searches: Sequence[Search]) -> None:
        self.active, self._has_begun, self._turn = list(searches), False, 0

    @property
    def over(self) -> bool:
        """Whether all have ended."""
        return not self.active

    def advance(self, evaluator: Evaluator) -> bool:
        """Ask, tell what has ended, and audit what has nothing left to ask.

        When all have ended, those that rest on a rule that another has seen contradicted begin again without it.

        Returns:
            Whether a trial was told or a search has ended; there may be more to tell. If not, it waits for a run.

        Raises:
            SearcherError: A searcher asks for nothing although nothing of it is out.
        """
        moved = self._take_turns(evaluator) if self._takes_turns else self._go_on_all(evaluator)
        if self.over:
            self._begin(share_contradictions(self.searches))
        elif not moved and not any(search.in_flight for search in self.active):
            self.active[0].searcher.refuse_waiting()
        return moved

    def forget(self) -> None:
        """Let go of the searches, whose results are known."""
        self.searches = ()

    def stop(self) -> None:
        """End all searches where they are."""
        for search in self.active:
            search.stop()

    @functools.cached_property
    def _learns_from_others(self) -> bool:
        return all(search.learns_from_others for search in self.searches)

    @property
    def _takes_turns(self) -> bool:
        return len(self.active) > 1 and self._learns_from_others

    def _go_on_all(self, evaluator: Evaluator) -> bool:
        told = [self._go_on(search, evaluator) for search in self.active]
        return self._dismiss(self.active) or any(told)

    def _go_on(self, search: Search, evaluator: Evaluator) -> bool:
        search.top_up(evaluator)
        told = 0
        while (trial := search.tell_next(evaluator)) is not None:
            told += 1
            self._on_trial(search, trial)
            search.top_up(evaluator)
            while search.due_for_race:  # at once: it must not depend on whether the next run has ended already
                search.race()
            if told >= TOLD_AT_ONCE:
                return True
        return search.do_what_is_due(evaluator) or bool(told)

    def _take_turns(self, evaluator: Evaluator) -> bool:
        if not self._has_begun:
            self._has_begun = True
            for search in self.active:
                search.top_up(evaluator)
        moved, idle, told = False, 0, 0
        while self.active and idle < len(self.active) and told < TOLD_AT_ONCE:
            self._turn %= len(self.active)
            search = self.active[self._turn]
            search.top_up(evaluator)
            trial = search.tell_next(evaluator)
            if trial is not None:
                told += 1
                self._on_trial(search, trial)
                for other in self.active:
                    if other is not search:
                        other.observe_other(trial.evaluation)
                search.top_up(evaluator)
            elif search.in_flight:
                break
            acted = trial is not None or search.do_what_is_due(evaluator)
            ended = self._dismiss([search])
            idle = 0 if acted or ended else idle + 1
            moved = moved or acted or ended
            self._turn += not ended  # else the next one has taken its place
        return moved

    def _dismiss(self, searches: Iterable[Search]) -> bool:
        """Leave out those that have ended; return whether there were any."""
        over = [search for search in searches if search.finished]
        for search in over:
            self.active.remove(search)
        return bool(over)

    def expect_chance(self, plan: Plan, evaluator: Evaluator, fresh: FreshRuns) -> None:
        """Have the violations of a stochastic target judged before they are believed; call it before `advance`.

        Args:
            plan: Of the study.
            evaluator: Of the study.
            fresh: Makes fresh runs of schedules.
        """
        world = usual_world(evaluator, self.at)
        for search in self.searches:
            racer = Racer(plan, search.at._replace(world=world), search.contract, fresh)
            search.expect_chance(racer, world)


def speculate(groups: Iterable[SearchGroup], evaluator: Evaluator) -> None:
    """Have idle workers run what searches will probably ask next, nearest first, each search in its turn."""
    idle = evaluator.queue.idle_workers
    likely = deque((search.at, search.likely()) for group in groups for search in group.active) if idle else deque()
    for _ in range(LOOKED_AT_MAX):
        if not (idle and likely):
            return
        at, following = likely.popleft()
        schedule = next(following, None)
        if schedule is not None:
            idle -= evaluator.speculate(at, schedule)
            likely.append((at, following))
