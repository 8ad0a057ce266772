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
    text = "\0".join([str(seed), *(f"{type(label).__name__}:{len(str(label))}:{label}" for label in labels)])
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest(), "big")
