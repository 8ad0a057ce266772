"""An adversary inside the run: an online policy, trained from episode to episode (Eq. 9).

Each trial is an episode. Its policy sees h_t = Obs(r_t) and injects where the sum of its weights reaches a threshold
(`chaosagent.faults.online`); the weights are drawn from what is believed of them by then (Thompson sampling), so that
what is uncertain is tried. What an episode brings is shared out among what was chosen in it. Instead of places alone,
the weights know situations: what has answered before and how, what has failed, what was injected last. So a policy
reacts where a fixed schedule would miss, on targets that dodge or draw.
"""

from __future__ import annotations

import enum
import random
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Annotated, NamedTuple

from chaosagent.faults.evaluation import Evaluation, Status
from chaosagent.faults.foresight import Foresight
from chaosagent.faults.observer import observations_of
from chaosagent.faults.online import SPREADS, Arms, Policy, Scores, contexts, plain_choices
from chaosagent.faults.operator import COST_TOLERANCE
from chaosagent.faults.schedule import EMPTY
from chaosagent.searchers.learning.belief import Belief, Weights
from chaosagent.searchers.seen.ceiling import Ceiling
from chaosagent.searchers.seen.points import expander_of
from chaosagent.searchers.seen.trial_log import TrialLog
from chaosagent.seeds import derive
from chaosagent.study.searcher import Problem, Proposal, Purpose, SearchProgress
from chaosagent.study.searcher_settings import Within
from chaosagent.study.shrinking.minimise import violates
from chaosagent.vocabulary import Verdict

REPEATS_MAX = 60
"""How many policies are drawn, each more daring, until one does something that was not seen yet."""

DARING = 0.1
"""What the deviations of a policy's weights grow by at each such draw."""

INJECTIONS_MAX = 12
"""Most injections that a policy aims at, however cheap they are."""

MARGIN_WORTH = 0.5
"""What an episode brings that comes as near to a violation as one can; a violation brings 1."""


ALL_IN = 0.6
"""Share of the policies that aim at as many injections as the budget allows; the others at any number."""

FOLLOWED, WANTED = 20.0, 3.0
"""Weights of what has led to a place, and of what is possible there, for a policy that returns there."""

KEEN = 0.25
"""Factor on the deviations of the weights of a policy that is to use what is known."""


class Exploration(enum.Enum):
    """How the weights of a policy are drawn.

    `CURIOUS`: as if nothing was known, so that nothing that was learned wrongly keeps anything from being tried;
    `OPEN`: from what is believed of them; `KEEN`: close to what is most likely; `RETURNING`: as `OPEN`, but first it
    does again what has led to a place that the run without injections never sees, and goes on there (as Go-Explore
    has it: Ecoffet et al. 2021).
    """

    CURIOUS = "curious"
    OPEN = "open"
    KEEN = "keen"
    RETURNING = "returning"


SHARES: Mapping[Exploration, float] = {
    Exploration.CURIOUS: 0.2,
    Exploration.OPEN: 0.3,
    Exploration.KEEN: 0.3,
    Exploration.RETURNING: 0.2,
}
"""How often each mood is drawn."""


class AdversarySearcher:
    """Proposes online policies, and learns from what they chose and what came of it.

    Args:
        problem: What is searched.
        discount: The γ of Eq. 9, in [0.5, 1]: what a violation is worth one crossing later.
        cost_weight: The β of Eq. 9, in [0, 10]: what the whole budget counts, in violations.
        instability_weight: The λ of Eq. 9, in [0, 10]: what it counts, in violations, when replays go the other way.
        noise: Variance of what an episode brings beyond what its choices explain, in [0.0001, 10].
        learns: Whether it learns; without, all policies are drawn as the first one is: the baseline of its training.
    """

    name = "adversary"

    def __init__(
        self,
        problem: Problem,
        *,
        discount: Annotated[float, Within(0.5, 1.0)] = 0.99,
        cost_weight: Annotated[float, Within(0.0, 10.0)] = 0.1,
        instability_weight: Annotated[float, Within(0.0, 10.0)] = 0.5,
        noise: Annotated[float, Within(0.0001, 10.0)] = 0.02,
        learns: bool = True,
    ) -> None:
        self._problem, self._learns = problem, learns
        self._discount = discount
        self._cost_weight = cost_weight
        self._instability_weight = instability_weight
        self._belief = Belief(noise)
        self._arms, self._choices = Arms(problem.space), plain_choices(problem.space)
        self._expander = expander_of(problem.space, problem.seed, kinds_matter=problem.kinds_matter)
        self._told, self._ceiling, self._foresight = TrialLog(problem.log), Ceiling(problem), Foresight()
        self._references: list[Evaluation] = []
        self._usable: dict[str, set[int]] = {}
        self._useless: dict[str, set[int]] = {}
        self._usual: frozenset[str] = frozenset()
        self._ways: dict[str, Evaluation] = {}
        self._margin = 1.0
        self._out: list[Policy] = []
        self._tells = 0
        self._number = -1
        self._exhausted = False

    def ask(self, count: int) -> list[Proposal]:
        if EMPTY not in self._told:
            return [] if count < 1 or EMPTY in self._told.out else [self._told.propose(EMPTY)]
        proposals: list[Proposal] = []
        while len(proposals) < count and not self._over:
            # It follows from what was told where nothing is out, and it never comes again.
            self._number = max(self._number + 1, self._tells)
            policy = self._policy(self._number)
            if policy is None:
                self._exhausted = True  # until something new is told
                break
            self._out.append(policy)
            proposals.append(Proposal(EMPTY, Purpose.EXPLORE, policy))
        return proposals

    def tell(self, evaluation: Evaluation) -> None:
        first = self._told.take(evaluation)
        self._tells += 1
        self._foresight.add(evaluation)
        self._take_in(evaluation)
        if not first or evaluation.status is Status.ERROR:
            return
        self._exhausted = False
        self._references.append(evaluation)
        self._ceiling.learn(evaluation)
        self._take_places(evaluation)
        if evaluation.schedule == EMPTY:
            self._usual, self._ways = frozenset(self._usable), {}
            verdict = evaluation.verdict(self._problem.contract)
            self._margin = verdict.margin if verdict is not None and verdict.margin > 0.0 else 1.0
        elif self._learns:
            self._belief.learn(self._used(evaluation), self._brought(evaluation))

    @property
    def finished(self) -> bool:
        return EMPTY in self._told and not self._out and (self._over or self._exhausted)

    @property
    def progress(self) -> SearchProgress:
        return SearchProgress()

    def audit(self, count: int) -> list[Proposal]:
        del count  # it proves nothing
        return []

    @property
    def _over(self) -> bool:
        """Whether nothing that was seen can be paid for any more."""
        return not self._usable or self._problem.space.cost_min > self._ceiling.cost

    # ------------------------------------------------------------------ learning

    def _take_in(self, evaluation: Evaluation) -> None:
        """Count one policy that is out as told: the first that would have made this run; the oldest if it failed."""
        if evaluation.status is Status.ERROR:
            del self._out[:1]  # what it had chosen may have died with its worker
            return
        chosen = evaluation.schedule
        for place, policy in enumerate(self._out):
            foreseen = self._foresight.of(Scores(policy, self._problem.seed))
            if foreseen is not None and foreseen.schedule == chosen:
                del self._out[place]
                return

    def _take_places(self, evaluation: Evaluation) -> None:
        """Note what can be done where, and what changes nothing or looks like something cheaper (rule R2)."""
        expansion = self._expander.expand(evaluation, after=-1)
        for candidate in expansion.candidates:
            place = str(candidate.injection.hook)
            self._usable.setdefault(place, set()).add(self._arms.number(candidate.injection.operator))
            if place not in self._usual and self._is_shorter(evaluation, self._ways.get(place)):
                self._ways[place] = evaluation
        for pruned in expansion.pruned:
            injection = pruned.candidate.injection
            self._useless.setdefault(str(injection.hook), set()).add(self._arms.number(injection.operator))

    def _used(self, evaluation: Evaluation) -> Iterable[tuple[str, int, float]]:
        """Yield the contexts of what landed, as far as it came before a violation."""
        landed = set(evaluation.effective)
        last = self._violated_at(evaluation)
        for seen, chosen in observations_of(evaluation):
            if chosen is not None and chosen in landed and seen.rank <= last:
                arm = self._arms.number(chosen.operator)
                for context in contexts(seen) if arm >= 0 else ():
                    yield context, arm, 1.0

    def _violated_at(self, evaluation: Evaluation) -> int:
        """Return the step of a violation, the number of crossings when there is none; notes are steps, too."""
        verdict = evaluation.verdict(self._problem.contract)
        crossings = len(evaluation.crossings)
        violation = None if verdict is None else verdict.violation
        return crossings if violation is None else min(violation.step, crossings)

    def _brought(self, evaluation: Evaluation) -> float:
        """Return what an episode is worth (Eq. 9), as seen from its begin; the run without injections is worth 0."""
        contract, space = self._problem.contract, self._problem.space
        if violates(evaluation, contract):
            worth = self._discount ** self._violated_at(evaluation)
        else:
            verdict = evaluation.verdict(contract)
            known = verdict is not None and verdict.verdict is Verdict.HOLDS
            margin = verdict.margin if known and verdict is not None else self._margin
            worth = MARGIN_WORTH * max(-1.0, min(1.0, (self._margin - margin) / self._margin))
        cost = evaluation.effective.declared_cost(space.model) / max(self._problem.budget, COST_TOLERANCE)
        return worth - self._cost_weight * cost - self._instability_weight * evaluation.instability

    # ------------------------------------------------------------------ proposing

    def _policy(self, number: int) -> Policy | None:
        """Return a policy that does something new, as far as that is known; `None` when many draws brought none."""
        for repeat in range(REPEATS_MAX):
            rng = derive(self._problem.search_seed, self.name, self._problem.contract, number, repeat)
            is_late = repeat >= REPEATS_MAX // 2
            mood = Exploration.CURIOUS if is_late else rng.choices(list(SHARES), list(SHARES.values()))[0]
            aim = self._aim(mood, rng)
            policy = self._drawn(f"{number}.{repeat}", mood, aim)
            policy = replace(policy, spread=policy.spread + DARING * repeat, dearest=self._dearest(aim.wanted, rng))
            scores = Scores(policy, self._problem.seed)
            policy = scores.policy = replace(policy, threshold=self._threshold(scores, aim))
            if self._foresight.of(scores) is None:
                return policy
        return None

    def _aim(self, mood: Exploration, rng: random.Random) -> _Aim:
        """Draw the known run that a policy's threshold is fitted to, and how many injections it would choose there.

        Half of the times it is the run without injections: the others show what comes behind an injection.
        """
        cheapest = max(self._problem.space.cost_min, COST_TOLERANCE)
        most = max(1, min(INJECTIONS_MAX, int(self._ceiling.cost / cheapest)))
        count = most if rng.random() < ALL_IN else rng.randint(1, most)
        affordable = [place for place, way in self._ways.items() if self._left_behind(way) >= 0.0]
        if mood is Exploration.RETURNING and affordable:
            place = rng.choice(affordable)
            way = self._ways[place]
            return _Aim(way, max(count, len(way.effective) + 1), place)
        return _Aim(self._told[EMPTY] if rng.random() < 0.5 else rng.choice(self._references), count)

    def _dearest(self, count: int, rng: random.Random) -> float:
        """Draw what one of some injections may cost: its equal part of the budget, or all that the cheapest leave."""
        budget, cheapest = self._ceiling.cost, self._problem.space.cost_min
        return max(cheapest, budget / count if rng.random() < 0.5 else budget - (count - 1) * cheapest)

    def _left_behind(self, way: Evaluation) -> float:
        """Return what is left of the budget behind a run's injections and one more."""
        model = self._problem.space.model
        return self._ceiling.cost - way.effective.declared_cost(model) - self._problem.space.cost_min

    def _is_shorter(self, evaluation: Evaluation, known: Evaluation | None) -> bool:
        model = self._problem.space.model
        return known is None or evaluation.effective.declared_cost(model) < known.effective.declared_cost(model)

    def _drawn(self, name: str, mood: Exploration, aim: _Aim) -> Policy:
        """Return a policy that knows what its mood lets it know, without its threshold."""
        problem = self._problem
        model = problem.space.model
        weights = () if mood is Exploration.CURIOUS else self._belief.weights()
        if aim.place:
            weights = (*weights, *self._leading(aim, weights))
        return Policy(
            name=f"{problem.search_seed} {problem.contract} {name}",
            seed=problem.search_seed,
            choices=self._choices,
            model=model,
            budget=self._ceiling.cost - COST_TOLERANCE,
            spread=KEEN if mood is Exploration.KEEN else 1.0,
            weights=weights,
            barred=self._barred(),
            blocked=tuple(
                tuple((str(injection.hook), model.of(injection.operator)) for injection in known)
                for known in self._ceiling.violations
            ),
        )

    def _leading(self, aim: _Aim, weights: Weights) -> Weights:
        """Return weights that make a policy do what has led to a place, and inject something there."""
        known = {context: row for context, row in weights if context.startswith("p ")}
        found: list[tuple[str, tuple[tuple[int, float, float], ...]]] = []
        for injection in aim.reference.effective:
            found.append((f"p {injection.hook}", ((self._arms.number(injection.operator), FOLLOWED, 0.0),)))
        context = f"p {aim.place}"
        row = {number: (mean, spread) for number, mean, spread in known.get(context, ())}
        usual = (0.0, SPREADS["p"])
        there = [(number, *row.get(number, usual)) for number in sorted(self._usable[aim.place])]
        found.append((context, tuple((number, mean + WANTED, spread) for number, mean, spread in there)))
        return tuple(found)

    def _barred(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        return tuple(
            (place, numbers)
            for place, useless in self._useless.items()
            if (numbers := tuple(sorted(useless - self._usable.get(place, _NONE))))
        )

    def _threshold(self, scores: Scores, aim: _Aim) -> float:
        """Return the threshold from which a policy would choose some number of injections in a known run.

        With a lower one it would spend its budget at the first crossings.
        """
        left, threshold = scores.policy.budget + COST_TOLERANCE, 0.0
        for score, cost in sorted(self._best_of(scores, aim.reference), reverse=True)[: aim.wanted]:
            if cost > left:
                break
            left, threshold = left - cost, score
        return threshold

    def _best_of(self, scores: Scores, reference: Evaluation) -> Iterable[tuple[float, float]]:
        """Yield score and cost of the best choice at each crossing of a known run."""
        for seen, _ in observations_of(reference):
            best = max(((score, arm.cost) for score, arm in scores.of(seen)), default=None)
            if best is not None:
                yield best


class _Aim(NamedTuple):
    """What a policy is made for.

    Attributes:
        reference: A known run, to which its threshold is fitted.
        wanted: How many injections it would choose in that.
        place: To which it returns; empty when it does not.
    """

    reference: Evaluation
    wanted: int
    place: str = ""


_NONE: frozenset[int] = frozenset()
