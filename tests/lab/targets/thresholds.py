"""Random small targets on which stronger faults never break less: answers too late or too short beyond thresholds."""

from __future__ import annotations

from typing import NamedTuple

from chaosagent.canonical import Plain
from chaosagent.contracts.catalogue import parse_contract
from chaosagent.faults.operator import CostModel
from chaosagent.faults.space import Choices, Space
from chaosagent.seeds import derive
from chaosagent.targets.target import Door, Run, Target, target
from chaosagent.testing.bench import Bench
from chaosagent.vocabulary import Outcome

ITEMS = 5
CONTRACT = "objective"
SECONDS = (5.0, 20.0, 60.0, 120.0)
SHARES = (0.2, 0.4, 0.6, 1.0)


class Limit(NamedTuple):
    """What an answer of one service may not reach.

    Attributes:
        service: Number of the service.
        seconds: How late it may not be; 0 where that does not matter.
        lost: How many items may not be missing; 0 where that does not matter.
    """

    service: int
    seconds: float
    lost: int

    def is_reached(self, waited: float, lost: int) -> bool:
        """Whether an answer reaches it."""
        return waited >= self.seconds and lost >= self.lost


class Thresholds(NamedTuple):
    """A target that fails when all limits of a clause are reached.

    Attributes:
        services: How many it asks, one after the other.
        follow_up: When this is reached one more service is asked, the last; `None` when it always is.
        clauses: It fails on any of them.
        checkpoints: It offers checkpoints.
        model: What injections cost.
        lookahead: Trials in flight.
    """

    services: int
    follow_up: Limit | None
    clauses: tuple[tuple[Limit, ...], ...]
    checkpoints: bool
    model: CostModel
    lookahead: int

    def target(self, *, honest: bool = True) -> Target:
        """Return the target.

        Args:
            honest: Stronger faults never break less; else an answer that is much too late is noticed.
        """

        @target(name="thresholds")
        async def ask_all(_: object, run: Run) -> Outcome:
            """Ask every service once."""
            told: dict[int, tuple[float, int]] = {}
            for number in range(self.services):
                follow_up = self.follow_up if number == self.services - 1 else None
                if follow_up is not None and not follow_up.is_reached(*told[follow_up.service]):
                    break
                if self.checkpoints:
                    noticed = not honest and _is_noticed(told)
                    run.checkpoint(str(number), [noticed, *self._limits_reached(told)], clock_matters=False)
                told[number] = await _asked(run.service(f"s{number}", _answer, read_only=True), run)
            failed = any(
                all(limit.is_reached(*told.get(limit.service, (-1.0, -1))) for limit in clause)
                for clause in self.clauses
            )
            return Outcome("done", success=not failed or (not honest and _is_noticed(told)))

        return ask_all

    def bench(self, *, honest: bool = True) -> Bench:
        """Return where its schedules are run."""
        choices = [
            Choices("service.delay", {"seconds": SECONDS}),
            Choices("service.partial_response", {"share": SHARES}),
            Choices("service.lost_response", {"when": ("before",)}),
        ]
        return Bench(self.target(honest=honest), [parse_contract(CONTRACT)], Space(choices, self.model))

    def _limits_reached(self, told: dict[int, tuple[float, int]]) -> list[Plain]:
        """Return which limits are reached."""
        limits = [limit for clause in self.clauses for limit in clause]
        limits += [] if self.follow_up is None else [self.follow_up]
        return [limit.is_reached(*told.get(limit.service, (-1.0, -1))) for limit in limits]


def random_thresholds(seed: int) -> Thresholds:
    """Return the target of a seed; equal seeds, equal targets."""
    rng = derive(seed, "thresholds")
    services = rng.randint(2, 4)

    def limit(service: int) -> Limit:
        late = rng.random() < 0.6
        short = not late or rng.random() < 0.2
        return Limit(service, rng.choice(SECONDS) if late else 0.0, rng.randint(1, ITEMS) if short else 0)

    clauses = tuple(
        tuple(limit(service) for service in rng.sample(range(services), rng.choice([1, 2, 2])))
        for _ in range(rng.randint(1, 3))
    )
    follow_up = limit(rng.randrange(services - 1)) if rng.random() < 0.4 else None
    model = CostModel(c_hook=rng.choice([1.0, 1.0, 0.2]), c_mag=rng.choice([0.1, 0.5, 1.5]))
    return Thresholds(services, follow_up, clauses, rng.random() < 0.5, model, rng.choice([1, 4, 16]))


def _is_noticed(told: dict[int, tuple[float, int]]) -> bool:
    """Whether an answer was so late that a dishonest target notices."""
    return any(waited >= SECONDS[-1] for waited, _ in told.values())


async def _asked(door: Door, run: Run) -> tuple[float, int]:
    """Return how late the answer was, and how many items are missing; a failure is neither."""
    begun = run.clock.now()
    try:
        answer = await door("get")
    except ConnectionError:
        return 0.0, 0
    return run.clock.now() - begun, ITEMS - len(answer)


def _answer(operation: str) -> Plain:
    del operation
    return list(range(ITEMS))
