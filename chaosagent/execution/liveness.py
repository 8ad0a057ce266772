"""Which variables a function may still read from some place on, by the flow of its bytecode."""

from __future__ import annotations

import dis
import functools
from collections.abc import Mapping
from types import CodeType
from typing import NamedTuple

LEAVES = frozenset({"RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", "INTERPRETER_EXIT"})
JUMPS = frozenset({"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "JUMP_ABSOLUTE"})
"""Instructions behind which the next one does not follow, besides those that leave the function."""


class _Step(NamedTuple):
    """One instruction.

    Attributes:
        read: Variables that it reads.
        written: Variables that it sets or deletes, before it reads.
        following: Offsets of what may come next.
    """

    read: frozenset[str]
    written: frozenset[str]
    following: tuple[int, ...]


@functools.lru_cache(maxsize=4_096)
def names_read_after(code: CodeType, offset: int) -> tuple[str, ...]:
    """Return the variables of a function that may be read behind an instruction before they are set anew.

    Args:
        code: Of the function.
        offset: Of the instruction that it is at (`f_lasti` of a frame).

    Returns:
        In the order of their names. Variables that functions share (closures) always count.
    """
    steps, alive = _steps(code), _read_from(code)
    here = max((one for one in steps if one <= offset), default=0)  # it may be at the cache behind a call
    found = {*code.co_cellvars, *code.co_freevars}.union(*(alive[following] for following in steps[here].following))
    return tuple(sorted(found))


@functools.lru_cache(maxsize=1_024)
def _steps(code: CodeType) -> Mapping[int, _Step]:
    """Return the instructions of a function, by their offsets."""
    instructions = list(dis.get_instructions(code))
    handlers = getattr(dis.Bytecode(code), "exception_entries", ())
    steps: dict[int, _Step] = {}
    for number, one in enumerate(instructions):
        following = [handler.target for handler in handlers if handler.start <= one.offset < handler.end]
        if one.opcode in dis.hasjrel or one.opcode in dis.hasjabs:
            following.append(one.argval)
        if one.opname not in LEAVES and one.opname not in JUMPS and number + 1 < len(instructions):
            following.append(instructions[number + 1].offset)
        read, written = _uses(one)
        steps[one.offset] = _Step(read, written, tuple(following))
    return steps


def _uses(one: dis.Instruction) -> tuple[frozenset[str], frozenset[str]]:
    """Return the variables that an instruction reads and sets; some do two things, as STORE_FAST_LOAD_FAST does."""
    read, written = set[str](), set[str]()
    if "_FAST" in one.opname:
        names = one.argval if isinstance(one.argval, tuple) else (one.argval,)
        for name, kind in zip(names, one.opname.split("_FAST"), strict=False):
            if not kind.endswith("LOAD"):
                written.add(name)
            elif name not in written:
                read.add(name)
    return frozenset(read), frozenset(written)


@functools.lru_cache(maxsize=1_024)
def _read_from(code: CodeType) -> Mapping[int, frozenset[str]]:
    """Return, for each instruction, the variables that may be read from there on before they are set."""
    steps = _steps(code)
    alive: dict[int, frozenset[str]] = dict.fromkeys(steps, frozenset())
    order, changed = [*steps][::-1], True
    while changed:
        changed = False
        for offset in order:
            step = steps[offset]
            behind = frozenset[str]().union(*(alive[one] for one in step.following))
            found = step.read | (behind - step.written)
            if found != alive[offset]:
                alive[offset], changed = found, True
    return alive
