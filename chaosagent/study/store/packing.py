"""Compression of what runs told: nearly all of it was told by other runs of the same task and seed, too."""

from __future__ import annotations

import zlib
from typing import NamedTuple

DICTIONARY_BYTES = 32_768
"""Of a dictionary: as far back as deflate looks (RFC 1951)."""
UNPACKED_BYTES_MAX = 1_000_000_000
LEVEL, MEMORY_LEVEL = 6, 8


class Packed(NamedTuple):
    """Compressed bytes.

    Attributes:
        data: The bytes; `None` where nothing is to be kept.
        dictionary: Number of the dictionary that they were compressed with; `None` for none.
    """

    data: bytes | None
    dictionary: int | None


class Packer:
    """Compresses the runs of one task and seed.

    The first of them, until they are as many bytes as a dictionary, are the dictionary of all others.

    Args:
        number: Of the dictionary that there is already; `None` for none.
        dictionary: Its bytes.
    """

    def __init__(self, number: int | None = None, dictionary: bytes = b"") -> None:
        self._number, self._first = number, b""
        self._begun = _compressor(dictionary)

    def pack(self, data: bytes) -> Packed:
        """Return some bytes compressed."""
        compressor = self._begun.copy()
        packed = compressor.compress(data) + compressor.flush()
        if self._number is None:
            self._first = data + self._first  # what came first, which is the run without injections, is nearest
        return Packed(packed, self._number)

    @property
    def next_dictionary(self) -> bytes | None:
        """The dictionary to be used from now on, once there is enough for one; `None` before, and after `use`."""
        return self._first[-DICTIONARY_BYTES:] if len(self._first) >= DICTIONARY_BYTES else None

    def use(self, number: int, dictionary: bytes) -> None:
        """Use a dictionary from now on."""
        self._number, self._first, self._begun = number, b"", _compressor(dictionary)


def _compressor(dictionary: bytes) -> zlib._Compress:
    if not dictionary:
        return zlib.compressobj(LEVEL, zlib.DEFLATED, zlib.MAX_WBITS, MEMORY_LEVEL)
    return zlib.compressobj(LEVEL, zlib.DEFLATED, zlib.MAX_WBITS, MEMORY_LEVEL, zlib.Z_DEFAULT_STRATEGY, dictionary)


def unpacked(data: bytes, dictionary: bytes = b"") -> bytes:
    """Return what was compressed.

    Raises:
        ValueError: The bytes were not made by `Packer.pack` with this dictionary, or hold far too much.
    """
    decompressor = zlib.decompressobj(zlib.MAX_WBITS, dictionary) if dictionary else zlib.decompressobj()
    try:
        found = decompressor.decompress(data, UNPACKED_BYTES_MAX)
    except zlib.error as error:
        raise ValueError(str(error)) from error
    if not decompressor.eof or decompressor.unused_data:
        raise ValueError("the compressed bytes are cut off, or hold too much")
    return found
