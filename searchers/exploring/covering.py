"""Dense schedules that find violations fast: the upper stream of the `anytime` searcher.

Each schedule puts many faults into one run, so that a run tries many pairs of them at once; what it finds is shrunk by
the study. A pair counts as tried when both of its faults have landed, as faults that end a run early hide those behind
them. Faults at hooks that exist only because of another fault are tried together with it.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.injection import Injection, Place
from chaosagent.faults.operator import COST_TOLERANCE
from chaosagent.faults.schedule import EMPTY, Schedule, schedule
from chaosagent.searchers.exploring.outages import Outages
from chaosagent.searchers.exploring.reactions import Reactions
from chaosagent.searchers.exploring.sites import Site, call_of
from chaosagent.searchers.exploring.untried import FEW, UntriedFaults
from chaosagent.searchers.seen.course import NOTHING
from chaosagent.searchers.seen.points import Expander
from chaosagent.searchers.seen.states import States
from chaosagent.study.searcher import Problem
from chaosagent.study.shrinking.minimise import violates

OUTAGES = 1 / 8
"""Share of schedules in which one interface fails throughout."""

FRONTIER = 1 / 10
"""Share of schedules made for a hook that only another fault brought about, while there are such."""

NEW_INTERFACES = 3 / 4
"""Share of schedules made for such hooks while one is of an interface that the run without injections never uses."""

OUTAGES_FIRST = 1 / 2
"""The same, as long as there is a call that never failed at every attempt."""

NEW_WORTH = 3.0
"""How many new pairs a fault is worth that has never landed."""

DRAWS_MAX, DRAWS_FEW = 20, 5
"""How often a schedule, and one of few faults, is drawn until it is a new one."""

SHARES = (1.0, 1.0, 1.0, 0.5)
"""Of the places that a run without injections reaches, as many get a fault."""


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
        self._sites: dict[Place, Site] = {}
        self._known: set[Injection] = set()
        self._shown: set[int] = set()
        self._costs: dict[Injection, float] = {}
        self._landed: set[Injection] = set()
        self._bits: dict[Injection, int] = {}
        self._partners: defaultdict[Injection, int] = defaultdict(int)  # as sets of bits
        self._minimal: list[frozenset[Injection]] = []
        self._violations = 0
        self._best = float("inf")
        self._outages, self._untried = Outages(), UntriedFaults()
        self._usual: frozenset[Place] = frozenset()
        self._lasts: dict[Injection, bool] = {}
        self._has_new_interface: bool | None = None
        self._needing: list[Site] = []  # those that came about by another fault

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
        if self._needing:
            easier = {site.place for site in self._needing if len(needs) < len(site.needs)}
            for part in self._expander.parts_at(evaluation, easier) if easier else ():
                if part.candidates and part.content in self._shown:
                    self._sites[part.place].needs = needs
        parts = self._expander.unseen_parts(evaluation, self._shown)
        if not parts:
            return
        self._has_new_interface = None
        self._shown.update(part.content for part in parts)
        for candidate in self._expander.merged(parts).candidates:
            injection = candidate.injection
            place = injection.place
            site = self._sites.get(place)
            if site is None:
                site = self._sites[place] = Site(place, needs)
                if needs:
                    self._needing.append(site)
                self._outages.add(call_of(place))
            elif len(needs) < len(site.needs):
                site.needs = needs
            if injection not in self._known:
                self._known.add(injection)
                self._untried.add(injection)
                self._costs[injection] = candidate.cost
                site.injections.append(injection)

    def _take_landed(self, evaluation: Evaluation) -> None:
        """Note what was tried together."""
        landed = evaluation.effective.injections
        self._outages.learn(evaluation)
        self._untried.learn(evaluation)
        if evaluation.schedule == EMPTY:
            self._usual = frozenset(crossing.place for crossing in evaluation.crossings)
            self._has_new_interface = None
        together, partners, sites = self._bits_of(landed), self._partners, self._sites
        for injection in landed:
            if injection not in self._landed:
                self._landed.add(injection)
                self._has_new_interface = None
            partners[injection] |= together
            site = sites.get(injection.place)
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
        for mark, acted, later in self._states.course(evaluation).stretches() if evaluation.fingerprints else ():
            if len(acted) != 1 or later is None:
                continue
            undisturbed = self._states.after(mark.state, NOTHING)
            if undisturbed is not None:
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

    def propose_few(self, rng: random.Random, is_taken: Callable[[Schedule], bool]) -> Schedule | None:
        """Return a schedule of two or three faults, within the budget, that no run of so few has tried.

        Returns:
            The schedule; `None` when all faults were tried, or several draws brought none.
        """
        for _ in range(DRAWS_FEW):
            drawn = self._few(self._untried.sample(rng), rng.randint(2, FEW))
            if drawn != EMPTY and not is_taken(drawn):
                return drawn
        return None

    def _few(self, choices: Iterable[Injection], wanted: int) -> Schedule:
        """Return so many of some faults at different calls, with what their places need, as far as the budget goes."""
        chosen: dict[Place, Injection] = {}
        left = self._problem.budget + COST_TOLERANCE
        for choice in choices:
            added = [*self._sites[choice.place].needs, choice]
            cost = sum(map(self._cost, added))
            is_apart = all(call_of(place) != call_of(choice.place) for place in chosen)
            if len(chosen) >= wanted or len(chosen) + len(added) > FEW or cost > left or not is_apart:
                continue
            together = dict(chosen)
            for injection in added:
                if self.fits(injection, together):
                    together[injection.place] = injection
            if len(together) == len(chosen) + len(added):
                chosen, left = together, left - cost
        return schedule(chosen.values())

    @property
    def has_unstruck(self) -> bool:
        """Whether there is a call that never failed at every attempt."""
        return self._outages.has_unstruck

    def _draw(self, rng: random.Random) -> Schedule:
        if self.has_new_interface and rng.random() < NEW_INTERFACES:
            return schedule(self._at_frontier(rng))
        kind = rng.random()
        outages = OUTAGES_FIRST if self._outages.has_unstruck else OUTAGES
        if kind < outages:
            return schedule(self._allowed(self._outages.draw(self._sites.values(), rng)) if self._sites else ())
        start = self._at_frontier(rng) if kind < outages + FRONTIER else []
        return schedule(start if start and rng.random() < 0.5 else self._filled(start, rng))

    def _usable(self, injection: Injection) -> bool:
        return self._costs[injection] < self._best

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
        self, site: Site, chosen: Mapping[Place, Injection], noticed: float, rng: random.Random
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
