"""Random small searches, for comparison with the plain truth: a program, operators that can act on it, a contract."""

from __future__ import annotations

from typing import NamedTuple

from chaosagent.contracts.catalogue import default_contracts, parse_contract
from chaosagent.contracts.contract import Contract
from chaosagent.faults.space import Choices, Space
from chaosagent.seeds import derive
from chaosagent.testing.bench import Bench
from chaosagent.testing.needles import FinalNeedle, StepNeedle
from chaosagent.vocabulary import Boundary
from tests.lab.targets.programs import Program, target_of
from tests.lab.targets.random_programs import boundaries_of, random_program

BLINDNESS = Choices("service.field_corruption", {"kind": ("null",), "field": ("value",)}, interfaces=("service:s*",))
LOSS = Choices("service.timeout", {"when": ("before", "after"), "seconds": (10.0,)})
BREAK = Choices("service.lost_response", {"when": ("before", "after")})
DELAY = Choices("service.delay", {"seconds": (1.0, 3.0)})
STALE = Choices("service.stale_response", {})
DUPLICATE = Choices("service.duplicate_delivery", {"which": ("first", "last")})
ERROR = Choices("service.error_status", {"status": (503,), "retry_after": (0.0,), "when": ("before", "after")})
SERVICE = (BLINDNESS, LOSS, BREAK, DELAY, STALE, DUPLICATE, ERROR)
ELSEWHERE = (
    Choices("memory.stale_read", {}),
    Choices("memory.lost_update", {}),
    Choices("message.drop", {}),
    Choices("message.duplicate", {}),
    Choices("message.reorder", {"seconds": (1.0,)}),
    Choices("retrieval.drop_top", {}),
    Choices("prompt.distractor", {}),
)
NAMES = (
    "final-needle",
    "step-needle",
    "past-needle",
    "past-needle",
    "at-most-once",
    "no-extra-effects",
    "termination",
)
COST_PAIR = 2.4
"""A budget for two injections."""


class Case(NamedTuple):
    """A search that is small enough for exhaustive enumeration, most of the time.

    Attributes:
        program: The target.
        choices: What may be injected.
        contract: Id of what is to be broken.
        number: Of the needles that are hidden.
        lookahead: Trials in flight.
    """

    program: Program
    choices: tuple[Choices, ...]
    contract: str
    number: int
    lookahead: int

    def bench(self) -> Bench:
        """Return where its schedules are run."""
        return Bench(target_of(self.program), needles(self.number), Space(self.choices))


def random_case(seed: int) -> Case:
    """Return the case of a seed; equal seeds, equal cases."""
    program, rng = random_program(seed), derive(seed, "case")
    crossed = boundaries_of(program.statements)
    fitting = [choice for choice in ELSEWHERE if Boundary(choice.operator.partition(".")[0]) in crossed]
    choices = rng.sample(SERVICE, rng.randint(1, 2)) + rng.sample(fitting, min(len(fitting), 2))
    return Case(program, tuple(choices), rng.choice(NAMES), rng.randrange(1_000), rng.choice([1, 5, 16]))


def needles(number: int) -> tuple[Contract, ...]:
    """Return the contracts of all cases, with the needles of one number."""
    return (
        *default_contracts(),
        parse_contract("objective"),
        FinalNeedle(share=8, number=number),
        StepNeedle(share=24, number=number),
        StepNeedle(share=40, number=number, with_past=True, id="past-needle"),
    )
