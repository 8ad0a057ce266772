"""A request that a client sent again by itself inside one crossing, so that the agent never saw the fault."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

SHOWN_MAX = 5
REMEDY = (
    "Such a client hides faults from the agent, and from a search. Switch its own retries off, such as by "
    "`max_retries=0` (OpenAI, Anthropic, requests) or `num_retries=0` (LiteLLM), and let the agent's side retry."
)


class UpstreamRetry(NamedTuple):
    """One request that was sent more than once behind a door.

    Attributes:
        hook: Of the crossing, such as `"model:gpt[2]@planner"`.
        sent: What was sent, without path and body, which may be secret: `"POST api.openai.com"`.
        failure: Of the first attempt: a status, or the class of an exception.
        attempts: How often it was sent in all.
    """

    hook: str
    sent: str
    failure: str
    attempts: int

    def __str__(self) -> str:
        return f"{self.sent} was sent {self.attempts} times inside {self.hook}, first answered by {self.failure}"


def listed_retries(retries: Sequence[UpstreamRetry]) -> str:
    """Return retries in one phrase, and how many more there are."""
    more = f"; and {len(retries) - SHOWN_MAX} more" if len(retries) > SHOWN_MAX else ""
    return "; ".join(map(str, retries[:SHOWN_MAX])) + more
