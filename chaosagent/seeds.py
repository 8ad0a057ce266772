"""Named random streams: all randomness of a run follows from its seed and a label."""

from __future__ import annotations

import random
from hashlib import blake2b


def derive(seed: int, *labels: str | int) -> random.Random:
    """Return the random stream of a seed and a label.

    The stream depends on nothing but the arguments: neither the order in which streams are made nor the
    number of workers changes what it draws.

    Args:
        seed: The seed of the run or of the study.
        labels: What the stream is for, most general first, such as `"operator", "service:crm[2]"`.
    """
    return random.Random(derive_seed(seed, *labels))


def derive_seed(seed: int, *labels: str | int) -> int:
    """Return the 128-bit seed that belongs to a seed and a label."""
    return _number_of(_hashed(seed, *labels))


class Streams:
    """The random streams of a seed and a label with a number behind it: those of `derive`, for a label that stays.

    Args:
        seed: The seed of the run or of the study.
        labels: What the streams are for.
    """

    def __init__(self, seed: int, *labels: str | int) -> None:
        self._begun = _hashed(seed, *labels)

    def at(self, number: int) -> random.Random:
        """Return `derive(seed, *labels, number)`."""
        hashed = self._begun.copy()
        hashed.update(f"\0{_told_apart(number)}".encode())
        return random.Random(_number_of(hashed))


def _hashed(seed: int, *labels: str | int) -> blake2b:
    text = "\0".join([str(seed), *map(_told_apart, labels)])
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16)


def _number_of(hashed: blake2b) -> int:
    return int.from_bytes(hashed.digest(), "big")


def _told_apart(label: str | int) -> str:
    """Return a label so that no two lists of labels make the same text."""
    text = str(label)
    return f"{type(label).__name__}:{len(text)}:{text}"
