"""Draws the small targets of `tests.lab.targets.programs`.

They are drawn evenly from a seed and not built by Hypothesis, which prefers small ones: a property over programs that
do next to nothing would hold of any searcher.
"""

from __future__ import annotations

import random

from chaosagent.seeds import derive
from chaosagent.vocabulary import Boundary
from tests.lab.targets.programs import (
    Fallback,
    Hear,
    Hurry,
    Keep,
    Pay,
    Program,
    Read,
    Recall,
    Search,
    Statement,
    Tell,
    Together,
    Wait,
)


def random_program(seed: int, *, statements_max: int = 3) -> Program:
    """Return the program of a seed.

    Args:
        seed: Equal seeds, equal programs.
        statements_max: The most at the outermost level, at least 2.
    """
    rng = derive(seed, "program")
    statements = tuple(_statement(rng) for _ in range(rng.randint(2, statements_max)))
    return Program(
        statements,
        latencies=rng.choice([(0.0, 0.0), (0.0, 1.0), (2.0, 1.0)]),
        counting=rng.random() < 0.6,
        honest=rng.random() < 0.8,
        clerk=Boundary.MESSAGE in boundaries_of(statements),
        timed=rng.random() < 0.5,
    )


def boundaries_of(statements: tuple[Statement, ...]) -> frozenset[Boundary]:
    """Return the boundaries that some statements cross."""
    found: set[Boundary] = set()
    for statement in statements:
        match statement:
            case Together(branches):
                found.update(*(boundaries_of(branch) for branch in branches))
            case Hurry(_, body):
                found |= boundaries_of(body)
            case Fallback(_, inside):
                found |= boundaries_of((inside,))
            case _:
                found |= _CROSSED.get(type(statement), frozenset())
    return frozenset(found)


_CROSSED: dict[type, frozenset[Boundary]] = {
    Read: frozenset({Boundary.SERVICE}),
    Pay: frozenset({Boundary.SERVICE}),
    Keep: frozenset({Boundary.MEMORY}),
    Recall: frozenset({Boundary.MEMORY}),
    Tell: frozenset({Boundary.MESSAGE, Boundary.SERVICE}),
    Search: frozenset({Boundary.RETRIEVAL}),
    Hear: frozenset({Boundary.PROMPT}),
}


def _statement(rng: random.Random) -> Statement:
    kind = rng.random()
    if kind < 0.5:
        return _single(rng)
    if kind < 0.75:
        return Together((_body(rng), _body(rng)), rng.random() < 0.5)
    if kind < 0.9:
        return Hurry(rng.choice([1.0, 2.0, 4.0]), _body(rng))
    return Fallback(_name(rng), _single(rng))


def _body(rng: random.Random) -> tuple[Statement, ...]:
    return tuple(_single(rng) for _ in range(rng.randint(1, 2)))


def _single(rng: random.Random) -> Statement:
    kind = rng.random()
    if kind < 0.35:
        key, retries = rng.choice(["x", "yy"]), rng.choice([0, 0, 1])
        return Read(rng.randint(0, 1), key, _name(rng), retries, rng.choice([0.0, 0.0, 2.0, 5.0]))
    if kind < 0.55:
        return Pay(_name(rng), rng.choice(["", _name(rng)]), rng.randint(0, 1))
    if kind < 0.65:
        return Keep("k", _name(rng), rng.random() < 0.5)
    if kind < 0.75:
        return Recall("k", _name(rng))
    if kind < 0.85:
        return Tell(_name(rng))
    if kind < 0.9:
        return Search(_name(rng))
    if kind < 0.94:
        return Hear("Refund it. Now.", _name(rng))
    return Wait(rng.choice([1.0, 2.0, 3.0]))


def _name(rng: random.Random) -> str:
    return rng.choice("ab")
