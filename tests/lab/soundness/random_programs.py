"""Draws programs, and the operators that are injected into them."""

from __future__ import annotations

import random
from typing import NamedTuple

from chaosagent.faults.space import Choices
from chaosagent.seeds import derive
from tests.lab.soundness.programs import (
    Body,
    Call,
    Compensate,
    Gather,
    Group,
    Keep,
    Limit,
    Locked,
    Program,
    Put,
    Race,
    Recall,
    Send,
    Spawn,
    Statement,
    Take,
    Unless,
    Wait,
)

DUPLICATES = (
    Choices("service.duplicate_delivery", {"which": ("first", "last")}),
    Choices("service.late_duplicate", {"seconds": (0.5, 3.0)}),
    Choices("message.duplicate", {}),
)
OTHERS = (
    Choices("service.delay", {"seconds": (1.0, 3.0)}),
    Choices("service.timeout", {"when": ("before", "after"), "seconds": (4.0,)}),
    Choices("service.lost_response", {"when": ("before", "after")}),
    Choices("service.error_status", {"status": (503,), "retry_after": (0.0,), "when": ("before", "after")}),
    Choices("service.false_success", {}),
    Choices("message.drop", {}),
    Choices("message.reorder", {"seconds": (1.0,)}),
    Choices("memory.lost_update", {}),
    Choices("memory.late_write", {"told": ("late", "early"), "seconds": (1.0,)}),
    Choices("memory.stale_read", {}),
)
STRANGE_CHOICES = tuple(
    Choices(name, {})
    for name in (
        "strange/repeat-if-odd",
        "strange/yield",
        "strange/yield-after",
        "strange/early-or-late",
        "strange/larger",
        "strange/larger-then-nothing",
    )
)
BUDGET_OF_TWO, BUDGET_OF_THREE = 2.4, 3.3


class Case(NamedTuple):
    """A program with what may be injected into it, and the budget."""

    program: Program
    choices: tuple[Choices, ...]
    budget: float
    lookahead: int


def random_case(seed: int, *, strange: bool = False) -> Case:
    """Return the case of a seed; equal seeds, equal cases.

    Args:
        seed: From which all is drawn.
        strange: Let one operator be a stranger's.
    """
    rng = derive(seed, "concurrent-case")
    program = random_program(rng)
    used = _boundaries(program.body)
    duplicates = [choice for choice in DUPLICATES if choice.operator.partition(".")[0] in used]
    others = [choice for choice in OTHERS if choice.operator.partition(".")[0] in used]
    chosen = rng.sample(duplicates, min(len(duplicates), 1)) if rng.random() < 0.8 else []
    chosen += rng.sample(others, min(len(others), rng.randint(1, 2)))
    if strange:
        chosen.append(rng.choice(STRANGE_CHOICES))
    budget = BUDGET_OF_THREE if rng.random() < 0.25 else BUDGET_OF_TWO
    return Case(program, tuple(chosen), budget, rng.choice([1, 1, 4, 16]))


def random_program(rng: random.Random) -> Program:
    """Draw a program of one to three statements, at least one of which does things at the same time."""
    body = [_statement(rng, depth=0) for _ in range(rng.randint(1, 2))]
    body.insert(rng.randrange(len(body) + 1), _together(rng, depth=0))
    return Program(
        tuple(body),
        latencies={
            door: rng.choice([0.0, 1.0, 1.0, 2.0]) for door in ("look", "pay", "undo", "relay")
        } | {"send": rng.choice([0.0, 1.0, 2.0])},
        counting=rng.random() < 0.4,
        keyed=rng.random() < 0.3,
        checkpoints=rng.random() < 0.8,
    )  # fmt: skip


def _statement(rng: random.Random, depth: int) -> Statement:
    if depth < 2 and rng.random() < 0.35:
        return _together(rng, depth)
    return _single(rng)


def _together(rng: random.Random, depth: int) -> Statement:
    kind = rng.random()
    if kind < 0.3:
        return Race(tuple(_body(rng, depth + 1) for _ in range(rng.choice([2, 2, 3]))))
    if kind < 0.45:
        return Group((_body(rng, depth + 1), _body(rng, depth + 1)))
    if kind < 0.6:
        return Gather((_body(rng, depth + 1), _body(rng, depth + 1)))
    if kind < 0.8:
        return Limit(rng.choice([0.5, 1.0, 1.5, 2.0, 3.0]), _body(rng, depth + 1))
    if kind < 0.87:
        return Locked(_body(rng, depth + 1))
    if kind < 0.94:
        return Spawn(_body(rng, depth + 1))
    return Compensate(_body(rng, depth + 1))


def _body(rng: random.Random, depth: int) -> Body:
    return tuple(_statement(rng, depth) for _ in range(rng.choice([1, 1, 2])))


def _single(rng: random.Random) -> Statement:
    kind = rng.random()
    if kind < 0.55:
        door = rng.choice(["look", "look", "pay", "pay", "relay", "undo"])
        return Call(door, _name(rng), _name(rng), rng.choice([0, 0, 1]), rng.random() < 0.4)
    if kind < 0.63:
        return Send(_name(rng))
    if kind < 0.68:
        return Keep(_name(rng))
    if kind < 0.73:
        return Recall(_name(rng))
    if kind < 0.78:
        return Put(_name(rng))
    if kind < 0.84:
        return Take(_name(rng), rng.choice([0.5, 2.0]))
    if kind < 0.92:
        return Unless(_name(rng), (Call(rng.choice(["look", "pay"]), _name(rng), _name(rng)),))
    return Wait(rng.choice([0.5, 1.0, 2.0]))


def _name(rng: random.Random) -> str:
    return rng.choice("ab")


def _boundaries(body: Body) -> frozenset[str]:
    found: set[str] = set()
    for statement in body:
        match statement:
            case Call():
                found.add("service")
            case Send():
                found.add("message")
            case Keep() | Recall():
                found.add("memory")
            case Race(branches) | Gather(branches) | Group(branches):
                for branch in branches:
                    found |= _boundaries(branch)
            case Limit(_, inside) | Unless(_, inside):
                found |= _boundaries(inside)
            case Locked(inside) | Spawn(inside) | Compensate(inside):
                found |= _boundaries(inside)
            case _:
                pass
    return frozenset(found)
