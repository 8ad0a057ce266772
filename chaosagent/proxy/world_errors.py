"""What goes wrong behind a proxy: the agent is told one line of each error, its author needs the whole traceback."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from chaosagent import errors
from chaosagent.vocabulary import StatusError

TRACEBACKS_MAX = 3
"""So many tracebacks are kept, the last ones."""

MESSAGE_MAX = 1_500
BAD_GATEWAY = 502

_PACKAGE = Path(errors.__file__).parent


@dataclass(slots=True)
class UpstreamErrors:
    """What went wrong behind the proxy, for whoever runs it; the agent is told, too.

    Attributes:
        unreachable: Servers that nobody could connect to.
        tell: Is called with each trouble, a sentence.
    """

    tell: Callable[[str], None] = lambda _: None
    unreachable: list[str] = field(default_factory=list)

    def refused(self, message: str) -> StatusError:
        """Return what is raised for an answer that is no answer."""
        self.tell(message)
        return StatusError(BAD_GATEWAY, message[:MESSAGE_MAX])


class WorldErrors:
    """The tracebacks of functions that have raised what no service answers on purpose.

    Attributes:
        tracebacks: The last of them, each with the call that it was raised in.
    """

    def __init__(self) -> None:
        self.tracebacks: list[str] = []

    @contextlib.contextmanager
    def noted(self, call: str) -> Iterator[None]:
        """Keep the traceback of what is raised in a `with` block.

        Args:
            call: Which function is called there.
        """
        try:
            yield
        except (StatusError, TimeoutError, ConnectionError):  # answers
            raise
        except Exception as error:
            self.tracebacks[: 1 - TRACEBACKS_MAX] = []
            self.tracebacks.append(f"{call} raised\n{_text_of(error)}")
            raise


def _text_of(error: Exception) -> str:
    """Return a traceback from where it leaves chaosagent."""
    frames = error.__traceback__
    while frames is not None and frames.tb_next is not None and _is_ours(frames.tb_frame.f_code.co_filename):
        frames = frames.tb_next
    return "".join(traceback.format_exception(type(error), error, frames)).rstrip()


def _is_ours(file: str) -> bool:
    return Path(file).is_relative_to(_PACKAGE)
