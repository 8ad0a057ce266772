"""Damage to the bytes of a file, as disks, transfers and editors do it."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

PAGE_BYTES = 4096
FLIPS_MAX = 64
Change = Callable[[bytearray, random.Random], None]


def damage_bytes(path: Path, rng: random.Random) -> str:
    """Damage a file, and return how."""
    data = bytearray(path.read_bytes())
    if not data:
        return "nothing to damage"
    name = rng.choice(list(CHANGES))
    CHANGES[name](data, rng)
    path.write_bytes(bytes(data))
    return f"{name} in {path.name}"


def _flip_bit(data: bytearray, rng: random.Random) -> None:
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _flip_bytes(data: bytearray, rng: random.Random) -> None:
    for _ in range(rng.randint(2, FLIPS_MAX)):
        data[rng.randrange(len(data))] = rng.randrange(256)


def _flip_head(data: bytearray, rng: random.Random) -> None:
    """Change a byte where SQLite describes the file or a page."""
    start = rng.randrange(0, len(data), PAGE_BYTES)
    data[min(start + rng.randrange(100), len(data) - 1)] = rng.randrange(256)


def _overwrite(data: bytearray, rng: random.Random) -> None:
    start = rng.randrange(len(data))
    part = rng.randbytes(rng.randint(1, 200))
    data[start : start + len(part)] = part


def _truncate(data: bytearray, rng: random.Random) -> None:
    del data[rng.randrange(len(data)) :]


def _truncate_pages(data: bytearray, rng: random.Random) -> None:
    del data[rng.randrange(0, len(data), PAGE_BYTES) :]


def _append(data: bytearray, rng: random.Random) -> None:
    data.extend(rng.randbytes(rng.randint(1, 2 * PAGE_BYTES)))


def _zero_page(data: bytearray, rng: random.Random) -> None:
    start = rng.randrange(0, len(data), PAGE_BYTES)
    data[start : start + PAGE_BYTES] = bytes(len(data[start : start + PAGE_BYTES]))


def _swap_pages(data: bytearray, rng: random.Random) -> None:
    one, other = (rng.randrange(0, len(data), PAGE_BYTES) for _ in range(2))
    first, second = bytes(data[one : one + PAGE_BYTES]), bytes(data[other : other + PAGE_BYTES])
    if len(first) == len(second):
        data[one : one + PAGE_BYTES], data[other : other + PAGE_BYTES] = second, first


def _repeat_page(data: bytearray, rng: random.Random) -> None:
    one, other = (rng.randrange(0, len(data), PAGE_BYTES) for _ in range(2))
    page = bytes(data[one : one + PAGE_BYTES])
    data[other : other + len(page)] = page


def _swap_words(data: bytearray, rng: random.Random) -> None:
    """Change a word that decides something wherever it stands."""
    for one, other in WORDS:
        at = data.find(one, rng.randrange(len(data)))
        if at >= 0:
            data[at : at + len(one)] = other


WORDS = [
    (b"yes", b"no "),
    (b"error", b"ok   "),
    (b"finished", b"crashed "),
    (b"after", b"befor"),
    (b"termination", b"terminatiom"),
]
CHANGES: dict[str, Change] = {
    "flip a bit": _flip_bit,
    "flip bytes": _flip_bytes,
    "flip a byte of a head": _flip_head,
    "overwrite": _overwrite,
    "truncate": _truncate,
    "truncate pages": _truncate_pages,
    "append": _append,
    "zero a page": _zero_page,
    "swap pages": _swap_pages,
    "repeat a page": _repeat_page,
    "swap words": _swap_words,
}
