"""Exceptions on their way through a door: what a client raised crosses as another one, and comes back as its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def translate_exceptions(made_of: Callable[[Exception], Exception]) -> Iterator[None]:
    """Raise what is made of an exception in its place, with that as its cause.

    Args:
        made_of: Returns what is raised, or the exception itself, which is then raised as it was.
    """
    try:
        yield
    except Exception as error:  # of code that nobody here knows; nothing is swallowed
        made = made_of(error)
        if made is error:
            raise
        raise made from error
