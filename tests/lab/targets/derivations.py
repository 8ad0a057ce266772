"""Random small targets that derive their outcome in several ways, and say from which calls they did."""

from __future__ import annotations

from typing import NamedTuple

from chaosagent.canonical import Plain
from chaosagent.contracts.catalogue import parse_contract
from chaosagent.faults.operator import CostModel
from chaosagent.faults.space import Choices, Space
from chaosagent.seeds import derive
from chaosagent.targets.target import Run, Target, target
from chaosagent.testing.bench import Bench
from chaosagent.vocabulary import Outcome

CONTRACT = "objective"
ITEMS = 3


class Derivations(NamedTuple):
    """A target that succeeds when all calls of some derivation are answered.

    Attributes:
        calls: How many it makes, one after the other; service and number of each follow from its place.
        derivations: The calls of each, by place.
        spare: A last call is made only when no derivation has succeeded, and is a derivation of its own.
        attempts: How often each call is attempted.
        checkpoints: It offers checkpoints.
        model: What injections cost.
        lookahead: Trials in flight.
    """

    calls: int
    derivations: tuple[tuple[int, ...], ...]
    spare: bool
    attempts: int
    checkpoints: bool
    model: CostModel
    lookahead: int

    def target(self, *, hidden: int | None = None) -> Target:
        """Return the target.

        Args:
            hidden: A call that it relies on and does not declare; `None` for an honest target.
        """

        @target(name="derivations", provenance_complete=True)
        async def derive_it(_: object, run: Run) -> Outcome:
            """Make every call, and then the spare one if need be."""
            answered: dict[int, str] = {}
            for place in range(self.calls):
                if self.checkpoints:
                    run.checkpoint(str(place), sorted(answered), clock_matters=False)
                if await self._is_answered(run, f"s{place % 2}"):
                    answered[place] = run.artifact()
            held = (one for one in self.derivations if all(place in answered for place in one))
            found = next(held, None)
            if found is None and self.spare and await self._is_answered(run, "spare"):
                run.link("outcome", "derived_from", run.artifact())
                return Outcome("spare", success=True)
            for place in found or ():
                if place != hidden:
                    run.link("fact", "derived_from", answered[place])
            run.link("fact", "supports", "outcome")
            return Outcome("done", success=found is not None)

        return derive_it

    def bench(self, *, hidden: int | None = None) -> Bench:
        """Return where its schedules are run."""
        choices = [
            Choices("service.lost_response", {"when": ("before",)}),
            Choices("service.partial_response", {"share": (0.4, 1.0)}),
            Choices("service.delay", {"seconds": (5.0,)}),
        ]
        return Bench(self.target(hidden=hidden), [parse_contract(CONTRACT)], Space(choices, self.model))

    async def _is_answered(self, run: Run, name: str) -> bool:
        ask = run.service(name, _answer, read_only=True).ask("get")
        for _ in range(self.attempts):
            try:
                if len(await ask.attempt()) == ITEMS:
                    return True
            except ConnectionError:
                pass
        return False


def random_derivations(seed: int) -> Derivations:
    """Return the target of a seed; equal seeds, equal targets."""
    rng = derive(seed, "derivations")
    calls = rng.randint(2, 4)
    derivations = tuple(
        tuple(sorted(rng.sample(range(calls), rng.randint(1, min(2, calls))))) for _ in range(rng.randint(1, 3))
    )
    model = CostModel(c_hook=1.0, c_mag=rng.choice([0.1, 0.5]))
    spare, attempts = rng.random() < 0.3, rng.choice([1, 1, 2])
    return Derivations(calls, derivations, spare, attempts, rng.random() < 0.5, model, rng.choice([1, 4, 16]))


def _answer(operation: str) -> Plain:
    del operation
    return list(range(ITEMS))
