"""Dense schedules that find violations fast: the upper stream of the `anytime` searcher.

Each schedule puts many faults into one run, so that a run tries many pairs of them at once; what it finds is shrunk by
the study. A pair counts as tried when both of its faults have landed, as faults that end a run early hide those behind
them. Faults at hooks that exist only because of another fault are tried together with it.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.injection import Injection, Place, hook_at, inject
from chaosagent.faults.schedule import EMPTY, Schedule, schedule
from chaosagent.searchers.exploring.reactions import Reactions
from chaosagent.searchers.seen.points import Expander
from chaosagent.searchers.seen.states import NOTHING, States
from chaosagent.study.minimise import violates
from chaosagent.study.searcher import Problem

Call: TypeAlias = tuple[str, str, int]
"""Interface, agent and occurrence: a call with all attempts at it."""

OUTAGES = 1 / 8
"""Share of schedules in which one interface fails throughout."""

FRONTIER = 1 / 10
"""Share of schedules made for a hook that only another fault brought about, while there are such."""

NEW_INTERFACES = 3 / 4
"""Share of schedules made for such hooks while one is of an interface that the run without injections never uses."""

OUTAGES_FIRST = 1 / 2
"""The same, as long as there is a call that never failed at every attempt."""

WHOLE_OUTAGES = 1 / 3
"""Share of the outages that strike every call of an interface, and not only every attempt of one call."""

ATTEMPTS_MORE = 3
"""How many further attempts an outage covers than were seen: what fails is often tried again."""

NEW_WORTH = 3.0
"""How many new pairs a fault is worth that has never landed."""

DRAWS_MAX = 20
SHARES = (1.0, 1.0, 1.0, 0.5)
"""Of the places that a run without injections reaches, as many get a fault."""


@dataclass(slots=True)
class _Site:
    """A place at which something was seen to be possible.

    Attributes:
        place: Where.
        needs: The faults of the smallest run that reached it; empty when the run without injections does.
        injections: What can be done there, one of each known outcome, cheapest first.
        landed: How often something landed there.
    """

    place: Place
    needs: Schedule
    injections: list[Injection] = field(default_factory=list)
    landed: int = 0


class CoveringStream:
    """Proposes dense schedules that cover pairs of faults not yet tried together.

    Its state follows from what it was told alone.

    Args:
        problem: What is searched.
        states: What is known of the states that runs come through; told of each run before this is.
        expander: Finds what could be added to runs.
    """

    def __init__(self, problem: Problem, states: States, expander: Expander) -> None:
        self._problem, self._states, self._expander = problem, states, expander
        self.reactions = Reactions()
        self._sites: dict[Place, _Site] = {}
        self._known: set[Injection] = set()
        self._shown: set[int] = set()
        self._costs: dict[Injection, float] = {}
        self._landed: set[Injection] = set()
        self._bits: dict[Injection, int] = {}
        self._partners: defaultdict[Injection, int] = defaultdict(int)  # as sets of bits
        self._minimal: list[frozenset[Injection]] = []
        self._violations = 0
        self._best = float("inf")
        self._struck: set[Call] = set()
        self._usual: frozenset[Place] = frozenset()
        self._lasts: dict[Injection, bool] = {}
        self._has_new_interface: bool | None = None

    def learn(self, evaluation: Evaluation) -> None:
        """Take over what a run has shown."""
        if evaluation.status is Status.ERROR:
            return
        self.reactions.learn(evaluation, violated=violates(evaluation, self._problem.contract))
        self._take_sites(evaluation)
        self._take_lasting(evaluation)
        self._take_landed(evaluation)
        if violates(evaluation, self._problem.contract):
            self._take_violation(evaluation)

    @property
    def novelties(self) -> int:
        """How many faults were seen to be possible, and how many minimal violations, so far."""
        return len(self._known) + self._violations

    def _take_sites(self, evaluation: Evaluation) -> None:
        needs = evaluation.effective
        parts = self._expander.parts(evaluation, after=-1)
        fresh = False
        for part in parts:
            if part.content not in self._shown:
                fresh = True
            elif part.candidates:
                shown = self._sites[part.place]
                shown.needs = min(shown.needs, needs, key=len)
        if not fresh:
            return
        self._has_new_interface = None
        self._shown.update(part.content for part in parts)
        for candidate in self._expander.merged(parts).candidates:
            injection = candidate.injection
            place = injection.place
            site = self._sites.get(place)
            if site is None:
                site = self._sites[place] = _Site(place, needs)
            elif len(needs) < len(site.needs):
                site.needs = needs
            if injection not in self._known:
                self._known.add(injection)
                self._costs[injection] = candidate.cost
                site.injections.append(injection)

    def _take_landed(self, evaluation: Evaluation) -> None:
        """Note what was tried together."""
        landed = evaluation.effective.injections
        if len(evaluation.schedule) > ATTEMPTS_MORE:
            injected = Counter(call_of(injection.place) for injection in evaluation.schedule.injections)
            self._struck.update(call for call, count in injected.items() if count > ATTEMPTS_MORE)
        if evaluation.schedule == EMPTY:
            self._usual = frozenset(crossing.place for crossing in evaluation.crossings)
            self._has_new_interface = None
        together = self._bits_of(landed)
        for injection in landed:
            if injection not in self._landed:
                self._landed.add(injection)
                self._has_new_interface = None
            self._partners[injection] |= together
            site = self._sites.get(injection.place)
            if site is not None:
                site.landed += 1

    def _bits_of(self, injections: Iterable[Injection]) -> int:
        """Return a set of injections as bits."""
        found, bits = 0, self._bits
        for injection in injections:
            bit = bits.get(injection)
            if bit is None:
                bit = bits[injection] = 1 << len(bits)
            found |= bit
        return found

    def _take_lasting(self, evaluation: Evaluation) -> None:
        """Note of faults that acted alone between two checkpoints whether they leave anything behind."""
        for state, acted, later in self._states.course(evaluation).stretches() if evaluation.fingerprints else ():
            undisturbed = self._states.after(state, NOTHING)
            if len(acted) == 1 and later is not None and undisturbed is not None:
                (injection,) = acted
                lasting = later.state != undisturbed.next_state
                self._lasts[injection] = lasting or self._lasts.get(injection, False)

    def _take_violation(self, evaluation: Evaluation) -> None:
        found = frozenset(evaluation.effective)
        if any(known <= found for known in self._minimal):
            return
        self._violations += 1
        self._has_new_interface = None
        self._minimal = [known for known in self._minimal if not found <= known] + [found]
        self._best = min(self._best, evaluation.effective.declared_cost(self._problem.space.model))

    # ------------------------------------------------------------------ proposing

    def propose(self, rng: random.Random, is_taken: Callable[[Schedule], bool]) -> Schedule | None:
        """Return a schedule that is not taken, `None` when several draws brought none."""
        for _ in range(DRAWS_MAX):
            drawn = self._draw(rng)
            if drawn != EMPTY and not is_taken(drawn):
                return drawn
        return None

    def _draw(self, rng: random.Random) -> Schedule:
        if self.has_new_interface and rng.random() < NEW_INTERFACES:
            return schedule(self._at_frontier(rng))
        kind = rng.random()
        unstruck = [site for site in self._sites.values() if call_of(site.place) not in self._struck]
        outages = OUTAGES_FIRST if unstruck else OUTAGES
        if kind < outages:
            return schedule(self._outage(unstruck, rng))
        start = self._at_frontier(rng) if kind < outages + FRONTIER else []
        return schedule(start if start and rng.random() < 0.5 else self._filled(start, rng))

    def _usable(self, injection: Injection) -> bool:
        return self._costs[injection] < self._best

    def _outage(self, unstruck: list[_Site], rng: random.Random) -> list[Injection]:
        """Return one fault at every attempt of a call, or at every call of an interface by an agent."""
        sites = unstruck or list(self._sites.values())
        if not sites:
            return []
        chosen = rng.choice(rng.choice(sites).injections)
        place = chosen.place
        same = [
            site.place for site in sites if site.place.interface == place.interface and site.place.agent == place.agent
        ]
        attempts = range(max(one.attempt for one in same) + ATTEMPTS_MORE + 1)
        whole = not unstruck and rng.random() < WHOLE_OUTAGES
        last = max(one.occurrence for one in same) + (ATTEMPTS_MORE if len(attempts) == ATTEMPTS_MORE + 1 else 0)
        return self._allowed(
            inject(hook_at(place._replace(occurrence=occurrence, attempt=attempt)), chosen.operator)
            for occurrence in (range(1, last + 1) if whole else range(place.occurrence, place.occurrence + 1))
            for attempt in attempts
        )

    def _at_frontier(self, rng: random.Random) -> list[Injection]:
        """Return a fault that has never landed at a hook that needs others, together with those.

        Hooks where nothing has landed yet come first, and interfaces that the run without injections never uses.
        """
        usual = {place.interface for place in self._usual}
        open_sites = [
            (site, [injection for injection in site.injections if self._is_open(injection)])
            for site in self._sites.values()
            if site.needs != EMPTY
        ]
        open_sites = [(site, injections) for site, injections in open_sites if injections]
        if not open_sites:
            return []
        weights = [(4.0 if site.place.interface not in usual else 1.0) / (1.0 + site.landed) for site, _ in open_sites]
        (site, injections) = rng.choices(open_sites, weights)[0]
        return self._allowed([*site.needs, rng.choice(injections)])

    @property
    def has_new_interface(self) -> bool:
        """Whether something at an interface that the run without injections never uses has not landed yet."""
        if self._has_new_interface is None:
            usual = {place.interface for place in self._usual}
            self._has_new_interface = any(
                self._is_open(injection)
                for site in self._sites.values()
                if site.place.interface not in usual
                for injection in site.injections
            )
        return self._has_new_interface

    def _is_open(self, injection: Injection) -> bool:
        return injection not in self._landed and self._usable(injection)

    def _allowed(self, injections: Iterable[Injection]) -> list[Injection]:
        """Return as many of some injections as may be together."""
        chosen: dict[Place, Injection] = {}
        for injection in injections:
            if self.fits(injection, chosen):
                chosen[injection.place] = injection
        return list(chosen.values())

    def fits(self, injection: Injection, chosen: Mapping[Place, Injection]) -> bool:
        """Whether a fault may be added to others, so that what they break may be cheaper than all that is known."""
        if injection.place in chosen:
            return False
        if self._best < float("inf"):
            total = sum([self._cost(one) for one in chosen.values()]) + self._cost(injection)
            if total >= self._best:
                return False
        return not self._minimal or self.tells(injection, chosen)

    def tells(self, injection: Injection, chosen: Mapping[Place, Injection]) -> bool:
        """Whether a fault may be added to others: at a place of its own, and without a known violation among them."""
        if injection.place in chosen:
            return False
        known = [minimal for minimal in self._minimal if injection in minimal]
        return not known or not any(minimal <= {injection, *chosen.values()} for minimal in known)

    def _cost(self, injection: Injection) -> float:
        cost = self._costs.get(injection)
        if cost is None:
            cost = self._costs[injection] = self._problem.space.model.of(injection.operator)
        return cost

    def _filled(self, start: Iterable[Injection], rng: random.Random) -> list[Injection]:
        """Add the faults that bring most pairs that were not tried, but few that are likely to end the run early."""
        chosen = {injection.place: injection for injection in start}
        noticed = sum(map(self.reactions.noticed, chosen.values()))
        sites = [site for site in self._sites.values() if site.needs == EMPTY]
        rng.shuffle(sites)
        share = rng.choice(SHARES)
        for site in sites[: max(1, round(share * len(sites)))]:
            best = self._best_at(site, chosen, noticed, rng)
            if best is None:
                continue
            staying = self.reactions.staying(best, noticed)
            if rng.random() < staying * min(1.0, 2.0 * self._lasting(best)):
                chosen[site.place] = best
                noticed += self.reactions.noticed(best)
        return list(chosen.values())

    def _best_at(
        self, site: _Site, chosen: Mapping[Place, Injection], noticed: float, rng: random.Random
    ) -> Injection | None:
        """Return the fault at a place that is worth most beside those chosen, of which so many are noticed."""
        beside, count = self._bits_of(chosen.values()), len(chosen)
        ending = self.reactions.ending_at(site.place, noticed)
        best, best_worth = None, 0.0
        for injection in site.injections:
            likely = (1.0 - self.reactions.noticed(injection) * ending) * self._lasting(injection)
            most = likely * (count + NEW_WORTH + 1.0)
            if most <= best_worth or not self._usable(injection):
                continue
            pairs = count - (self._partners.get(injection, 0) & beside).bit_count()
            worth = likely * (pairs + NEW_WORTH * (injection not in self._landed) + rng.random())
            if worth > best_worth and self.fits(injection, chosen):
                best, best_worth = injection, worth
        return best

    def _lasting(self, injection: Injection) -> float:
        """Return how much a fault is worth trying with others: little when it was seen to leave nothing behind."""
        lasts = self._lasts.get(injection)
        if lasts is None:
            return 0.7
        return 1.0 if lasts else 0.05


def call_of(place: Place) -> Call:
    """Return which call a place belongs to, whatever the attempt."""
    return place.interface, place.agent, place.occurrence
