"""R(B): how many tasks are still done when schedules of cost up to B are injected.

R(B) = mean over tasks x and seeds z of Y(x, z, δ*(B)), where δ*(B) is the cheapest schedule of cost at most B that
keeps the objective from being met (1.9 of the specification). The *adversarial* curve follows from searches against the
contract `objective`, without another run: a pair (x, z) succeeds below the cost of its cheapest counterexample. Where a
search has proved less than that, success is known to lie between two values, and the curve says so. The *random* curve
is the mean success under schedules drawn at random with the same budgets (`chaosagent.metrics.random_curve`).

Where the answers of a target come by chance, Y is chance, too, and what is proved holds for frozen answers alone. Then
a pair is *broken* by a schedule that fresh runs confirm to make failure likelier, *kept* as far as clean runs with
other answers show it (level S), and undecided else; the curve carries what stands behind that (`ChanceEvidence`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise

from chaosagent.canonical import Plain
from chaosagent.errors import UsageError
from chaosagent.statistics.intervals import Interval
from chaosagent.study.certificate import Certificate
from chaosagent.study.plan import OBJECTIVE
from chaosagent.study.result import SearchResult


@dataclass(frozen=True, slots=True)
class Survival:
    """What is known of one task and seed.

    Attributes:
        task_id: The task.
        seed: The seed.
        safe_below: The objective is met under every schedule cheaper than this; infinite when under all that were asked
            about. Where answers come by chance: as far as clean runs show.
        broken_from: Some schedule of this cost keeps it from being met; `None` when none is known. Where answers come
            by chance: fresh runs confirm that it does so more often.
    """

    task_id: str
    seed: int
    safe_below: float
    broken_from: float | None

    def upper(self, budget: float) -> int:
        """Return 0 if the objective is known to fail within a budget, else 1."""
        return 0 if self.broken_from is not None and self.broken_from <= budget else 1

    def lower(self, budget: float) -> int:
        """Return 1 if the objective is proved, or shown, to be met under every schedule within a budget, else 0."""
        return 1 if budget < self.safe_below else 0


@dataclass(frozen=True, slots=True)
class ChanceEvidence:
    """What stands behind an adversarial curve where answers come by chance: nothing of it is proved.

    Attributes:
        kept: For how many pairs of task and seed clean runs show something.
        runs: Clean runs, with other answers each, of every class of schedules that counts as keeping the objective; the
            least of those pairs. 0 where there is none.
        share_max: Below which share of its runs each of those classes fails; 1 where there is none.
        error: Probability that one fails more often, for each of them.
    """

    kept: int = 0
    runs: int = 0
    share_max: float = 1.0
    error: float = 0.0

    def __str__(self) -> str:
        broken = (
            "Answers come by chance, so nothing here is proved. Broken: fresh runs confirm that a schedule makes it"
        )
        if not self.kept:
            return f"{broken} likelier to fail. Kept: only what asks no model, as no search ended at level S."
        return (
            f"{broken} likelier to fail. Kept (level S): at least {self.runs} clean runs with other answers of each "
            f"class of cheaper schedules that ask the models, so each fails in less than {self.share_max:.2f} of runs "
            f"(error {self.error:g} each)."
        )


@dataclass(frozen=True, slots=True)
class Level:
    """A curve from one budget to the next.

    Attributes:
        budget: The value holds from here on, this budget included.
        upper: R is at most this.
        lower: R is at least this; equal to `upper` where everything is known.
        interval: On a random curve, in which R lies at 95 % confidence, for more tasks like these; all of [0, 1] for
            fewer than 5 tasks. Without faults, and on an adversarial curve, nothing is estimated: the value holds for
            these tasks and seeds, and the interval is from `lower` to `upper`.
    """

    budget: float
    upper: float
    lower: float
    interval: Interval


@dataclass(frozen=True, slots=True)
class Curve:
    """R(B) as a step function on [0, budget_max].

    Attributes:
        kind: `"adversarial"` or `"random"`.
        levels: By budget, the first at 0.
        budget_max: Where the curve ends.
        samples: Pairs of task and seed, or runs, behind each level at most.
        shown: What stands behind an adversarial curve where answers come by chance; `None` where it is proved.
    """

    kind: str
    levels: tuple[Level, ...]
    budget_max: float
    samples: int
    shown: ChanceEvidence | None = None

    def at(self, budget: float) -> Level:
        """Return the level at a budget.

        Raises:
            UsageError: The curve does not reach it.
        """
        if not 0 <= budget <= self.budget_max:
            raise UsageError(f"R({budget!r}): the curve reaches from 0 to {self.budget_max:g}.")
        return [level for level in self.levels if level.budget <= budget][-1]

    @property
    def area(self) -> Interval:
        """The area under the curve, divided by `budget_max`: the mean of R over the budgets, at least and at most."""
        if self.budget_max == 0:
            return Interval(self.levels[0].lower, self.levels[0].upper)
        ends = [*(level.budget for level in self.levels), self.budget_max]
        widths = [(end - begin) / self.budget_max for begin, end in pairwise(ends)]
        low = sum(width * level.lower for width, level in zip(widths, self.levels, strict=True))
        high = sum(width * level.upper for width, level in zip(widths, self.levels, strict=True))
        return Interval(low, high)

    def to_json(self) -> dict[str, Plain]:
        """Return the curve as plain data."""
        area = self.area
        return {
            "kind": self.kind,
            "budget_max": self.budget_max,
            "samples": self.samples,
            "shown": None if self.shown is None else {**asdict(self.shown), "note": str(self.shown)},
            "area": [area.low, area.high],
            "levels": [
                {
                    "budget": level.budget,
                    "upper": level.upper,
                    "lower": level.lower,
                    "interval": [level.interval.low, level.interval.high],
                }
                for level in self.levels
            ],
        }


def survival_of(search: SearchResult) -> Survival:
    """Return what a search against the objective tells of its task and seed."""
    certificate, found = search.certificate, search.counterexample
    if search.violated_nominally:
        return Survival(search.task_id, search.seed, 0.0, 0.0)
    if certificate.frozen:
        kept_below = (
            certificate.lower_bound if _shows_clean_runs(certificate) or _is_without_chance(certificate) else 0.0
        )
        costs = [one.cost for one in search.counterexamples if one.confirmation and one.confirmation.confirmed]
        return Survival(search.task_id, search.seed, kept_below, min(costs, default=None))
    safe_below = 0.0 if certificate.level == "C0" else certificate.lower_bound
    cost = certificate.cost if found is None else found.cost
    return Survival(search.task_id, search.seed, safe_below, cost)


def _shows_clean_runs(certificate: Certificate) -> bool:
    """Whether what is said of frozen answers was tried with others, too; a proof for one world says nothing of them."""
    return certificate.level == "S" and certificate.clean is not None


def _is_without_chance(certificate: Certificate) -> bool:
    """Whether nothing cheaper asks a model under an injection, so that there was nothing to be tried with others.

    Then a search that has ended has no class, clean or seen violating. In a further world that was searched nothing has
    classes, so that tells nothing.
    """
    ended = certificate.level != "C0" and not certificate.limit_reached and certificate.worlds_searched == 1
    return ended and not certificate.doubted and certificate.clean is None and certificate.broken_anyway is None


def chance_evidence_of(searches: Iterable[SearchResult]) -> ChanceEvidence | None:
    """Return what stands behind a curve where answers come by chance; `None` where they do not."""
    certificates = [search.certificate for search in searches]
    if not any(certificate.frozen for certificate in certificates):
        return None
    clean = [one.clean for one in certificates if one.clean is not None and _shows_clean_runs(one)]
    if not clean:
        return ChanceEvidence()
    least = min(clean, key=lambda one: one.runs)
    return ChanceEvidence(len(clean), least.runs, least.share_max, least.error)


def adversarial_curve(searches: Iterable[SearchResult], budget_max: float) -> Curve:
    """Return R(B) under the cheapest schedules.

    Args:
        searches: Of a study with that budget; only those against the contract `objective` count.
        budget_max: Up to where the curve is wanted; the budget of the study.

    Raises:
        UsageError: No search was against the objective.
    """
    against = [search for search in searches if search.contract == OBJECTIVE]
    survivals = [survival_of(search) for search in against]
    if not survivals:
        raise UsageError(
            f"R(B) needs searches against the contract {OBJECTIVE!r}, and this study has none. Add it: "
            f"contracts=['default', {OBJECTIVE!r}]."
        )
    return curve_of(survivals, budget_max, chance_evidence_of(against))


def curve_of(survivals: Sequence[Survival], budget_max: float, shown: ChanceEvidence | None = None) -> Curve:
    """Return the adversarial curve of tasks and seeds of which it is known what breaks them.

    Args:
        survivals: Of each task and seed; at least one.
        budget_max: Where the curve ends.
        shown: What stands behind it where answers come by chance.
    """
    changes = {0.0}
    for survival in survivals:
        changes.update(bound for bound in (survival.safe_below, survival.broken_from) if bound is not None)
    budgets = sorted(change for change in changes if change <= budget_max)
    levels = tuple(_level(survivals, budget) for budget in budgets)
    return Curve("adversarial", levels, budget_max, len(survivals), shown)


def _level(survivals: Sequence[Survival], budget: float) -> Level:
    count = len(survivals)
    upper = sum(survival.upper(budget) for survival in survivals)
    lower = sum(survival.lower(budget) for survival in survivals)
    return Level(budget, upper / count, lower / count, Interval(lower / count, upper / count))
