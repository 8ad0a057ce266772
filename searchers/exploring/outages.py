"""Outages: a call that fails at every attempt, or an interface that fails whenever an agent calls it.

What fails is often tried again, so a single fault tells little of how a target bears a service that is down. A fault
that the target answered by asking again comes first; many others end the run at once.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Iterator

from chaosagent.faults.evaluation import Evaluation
from chaosagent.faults.injection import Injection, hook_at, inject
from chaosagent.searchers.exploring.sites import Call, Site, call_of

ATTEMPTS_MORE = 3
"""How many further attempts an outage covers than were seen."""

WHOLE = 1 / 3
"""Share of the outages that strike every call of an interface, once each call has failed throughout."""


class Outages:
    """Draws outages, those first that no run had; it follows from what was told."""

    def __init__(self) -> None:
        self._calls: set[Call] = set()
        self._struck: set[Call] = set()
        self._struck_by: set[tuple[Call, str]] = set()  # with the operator

    def add(self, call: Call) -> None:
        """Take a call at which something was seen to be possible."""
        self._calls.add(call)

    def learn(self, evaluation: Evaluation) -> None:
        """Note which calls failed throughout."""
        if len(evaluation.schedule) <= ATTEMPTS_MORE:
            return
        injected = Counter((call_of(one.place), one.operator_name) for one in evaluation.schedule)
        outages = [outage for outage, count in injected.items() if count > ATTEMPTS_MORE]
        self._struck_by.update(outages)
        self._struck.update(call for call, _ in outages)

    @property
    def has_unstruck(self) -> bool:
        """Whether there is a call that never failed throughout."""
        return not self._calls <= self._struck

    def draw(self, sites: Collection[Site], rng: random.Random) -> Iterator[Injection]:
        """Yield one fault at every attempt of a call, or at every call of an interface by an agent.

        Args:
            sites: Where something is possible; at least one.
            rng: Draws the call and the fault.
        """
        unstruck = [site for site in sites if call_of(site.place) not in self._struck]
        repeated = list(self._repeated(sites))
        chosen = rng.choice(repeated or rng.choice(unstruck or list(sites)).injections)
        place = chosen.place
        same = [one.place for one in sites if (one.place.interface, one.place.agent) == (place.interface, place.agent)]
        attempts_seen = max(one.attempt for one in same)
        first = last = place.occurrence
        if not unstruck and rng.random() < WHOLE:
            first, last = 1, max(one.occurrence for one in same) + (0 if attempts_seen else ATTEMPTS_MORE)
        for occurrence in range(first, last + 1):
            for attempt in range(attempts_seen + ATTEMPTS_MORE + 1):
                yield inject(hook_at(place._replace(occurrence=occurrence, attempt=attempt)), chosen.operator)

    def _repeated(self, sites: Collection[Site]) -> Iterator[Injection]:
        """Yield what the target answered by asking again, and what never struck that call throughout."""
        for site in sites:
            for need in site.needs if site.place.attempt else ():
                call = call_of(need.place)
                if call == call_of(site.place) and (call, need.operator_name) not in self._struck_by:
                    yield need
