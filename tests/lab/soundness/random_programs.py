"""Draws programs, and the operators that are injected into them."""

from __future__ import annotations

import random
from typing import NamedTuple

from chaosagent.faults.space import Choices
from chaosagent.seeds import derive
from tests.lab.soundness.programs import Program
from tests.lab.soundness.statements import (
    Attempt,
    AwaitSignal,
    Body,
    Call,
    Compensate,
    Completed,
    Gather,
    Group,
    Keep,
    Limit,
    Locked,
    OnCancel,
    Post,
    Put,
    Race,
    Recall,
    Receive,
    Send,
    Shielded,
    Signal,
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
    Choices("message.misaddressed", {"part": ("recipient",)}),
    Choices("message.corrupted", {"kind": ("null",), "index": (0,)}),
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
        "strange/nothing-later",
        "strange/other-later",
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
        strange: Let one or two operators be a stranger's.
    """
    rng = derive(seed, "concurrent-case")
    program = random_program(rng)
    used = _boundaries(program.body)
    duplicates = [choice for choice in DUPLICATES if choice.operator.partition(".")[0] in used]
    others = [choice for choice in OTHERS if choice.operator.partition(".")[0] in used]
    chosen = rng.sample(duplicates, min(len(duplicates), rng.choice([1, 1, 2]))) if rng.random() < 0.8 else []
    chosen += rng.sample(others, min(len(others), rng.randint(1, 2)))
    if strange:
        chosen += rng.sample(STRANGE_CHOICES, rng.choice([1, 2]))
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
        } | {"send": rng.choice([0.0, 1.0, 2.0]), "notes": rng.choice([0.0, 0.0, 1.0])},
        counting=rng.random() < 0.4,
        keyed=rng.random() < 0.3,
        checkpoints=rng.random() < 0.8,
        agents=rng.random() < 0.25,
        serial=rng.random() < 0.25,
        later=rng.random() < 0.2,
        refuses=rng.random() < 0.2,
        impatient=rng.random() < 0.25,
    )  # fmt: skip


def _statement(rng: random.Random, depth: int) -> Statement:
    if depth < 2 and rng.random() < 0.35:
        return _together(rng, depth)
    return _single(rng)


def _together(rng: random.Random, depth: int) -> Statement:
    kind = rng.random()
    if kind < 0.24:
        return Race(tuple(_body(rng, depth + 1) for _ in range(rng.choice([2, 2, 3]))))
    if kind < 0.36:
        return Group((_body(rng, depth + 1), _body(rng, depth + 1)))
    if kind < 0.45:
        return Gather((_body(rng, depth + 1), _body(rng, depth + 1)))
    if kind < 0.51:
        return Completed((_body(rng, depth + 1), _body(rng, depth + 1)))
    if kind < 0.68:
        return Limit(rng.choice([0.5, 1.0, 1.5, 2.0, 3.0]), _body(rng, depth + 1))
    if kind < 0.74:
        return Locked(_body(rng, depth + 1))
    if kind < 0.8:
        return Spawn(_body(rng, depth + 1))
    if kind < 0.86:
        return Shielded(_body(rng, depth + 1))
    if kind < 0.94:
        return OnCancel(_body(rng, depth + 1), _body(rng, 2), rng.random() < 0.2)
    return Compensate(_body(rng, depth + 1))


def _body(rng: random.Random, depth: int) -> Body:
    return tuple(_statement(rng, depth) for _ in range(rng.choice([1, 1, 2])))


def _single(rng: random.Random) -> Statement:
    kind = rng.random()
    if kind < 0.45:
        door = rng.choice(["look", "look", "pay", "pay", "relay", "undo"])
        return Call(door, _name(rng), _name(rng), rng.choice([0, 0, 1]), rng.random() < 0.4)
    if kind < 0.52:
        return Attempt(rng.choice(["look", "pay", "relay"]), _name(rng), _name(rng), rng.choice([1, 2]))
    if kind < 0.92:
        return _small(rng)
    return Unless(_name(rng), (Call(rng.choice(["look", "pay"]), _name(rng), _name(rng)),))


def _small(rng: random.Random) -> Statement:
    """Draw a statement that asks no service."""
    kind = rng.randrange(9)
    if kind < 2:
        return Send(_name(rng)) if kind else Post(_name(rng))
    if kind < 4:
        return Keep(_name(rng)) if kind == 2 else Recall(_name(rng))
    if kind == 4:
        return Put(_name(rng))
    if kind == 5:
        return Take(_name(rng), rng.choice([0.5, 2.0]))
    if kind == 6:
        return Receive(_name(rng), rng.choice([0.5, 2.0]))
    if kind == 7:
        return Signal() if rng.random() < 0.5 else AwaitSignal(_name(rng), rng.choice([0.5, 2.0]))
    return Wait(rng.choice([0.5, 1.0, 2.0]))


def _name(rng: random.Random) -> str:
    return rng.choice("ab")


def _boundaries(body: Body) -> frozenset[str]:
    found: set[str] = set()
    for statement in body:
        match statement:
            case Call() | Attempt():
                found.add("service")
            case Send() | Post():
                found.add("message")
            case Keep() | Recall():
                found.add("memory")
            case Race(branches) | Gather(branches) | Group(branches) | Completed(branches):
                for branch in branches:
                    found |= _boundaries(branch)
            case Limit(_, inside) | Unless(_, inside):
                found |= _boundaries(inside)
            case Locked(inside) | Spawn(inside) | Compensate(inside) | Shielded(inside):
                found |= _boundaries(inside)
            case OnCancel(inside, cleanup):
                found |= _boundaries(inside) | _boundaries(cleanup)
            case _:
                pass
    return frozenset(found)
