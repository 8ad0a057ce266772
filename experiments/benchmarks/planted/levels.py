"""What may be injected into the planted targets, and what it costs: operators of the package at declared levels."""

from __future__ import annotations

from chaosagent.faults.operator import CostModel
from chaosagent.faults.space import Choices, Space

MODEL = CostModel(c_tokens=0.01, c_hook=1.0, c_mag=0.5)

LATE = "service.delay(seconds=0.6)"
"""An answer that is hardly late: 1.00495."""
VERY_LATE = "service.delay(seconds=40.0)"
"""1.2."""
LAST_LOST = "service.partial_response(share=0.01)"
"""The last item is missing: 1.005."""
SOME_LOST = "service.partial_response(share=0.4)"
"""Two of five items are missing: 1.2."""


def fourteen(share: float = 0.01) -> tuple[Choices, ...]:
    """Return eight operators with fourteen levels, for services.

    Args:
        share: The lesser share of an answer that is lost.
    """
    return (
        Choices("service.delay", {"seconds": (0.6, 40.0)}),
        Choices("service.timeout", {"when": ("before", "after"), "seconds": (30.0,)}),
        Choices("service.error_status", {"status": (404, 503), "when": ("before",)}),
        Choices("service.lost_response", {"when": ("before", "after")}),
        Choices("service.field_corruption", {"kind": ("zero", "null"), "index": (0,)}),
        Choices("service.partial_response", {"share": (share, 0.4)}),
        Choices("service.duplicate_delivery", {"which": ("first",)}),
        Choices("service.schema_mismatch", {"kind": ("typed",)}),
    )


def five() -> tuple[Choices, ...]:
    """Return four operators with five levels, for services."""
    return (
        Choices("service.delay", {"seconds": (0.6,)}),
        Choices("service.timeout", {"when": ("before",), "seconds": (30.0,)}),
        Choices("service.error_status", {"status": (503,), "when": ("before",)}),
        Choices("service.field_corruption", {"kind": ("null",), "index": (0,)}),
        Choices("service.partial_response", {"share": (0.01,)}),
    )


def twenty_three() -> tuple[Choices, ...]:
    """Return four operators, two of them on ten levels of their magnitude."""
    seconds = (5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 60.0, 90.0, 140.0, 240.0)
    return (
        Choices("service.delay", {"seconds": seconds}),
        Choices("service.partial_response", {"share": tuple(tenth / 10 for tenth in range(1, 11))}),
        Choices("service.field_corruption", {"kind": ("zero", "null"), "index": (0,)}),
        Choices("service.timeout", {"when": ("before",), "seconds": (30.0,)}),
    )


TEXT_LENGTHS = (40, 80, 120, 200, 300, 400, 500)
_SENTENCE = "Kindly note that the rule in question has been under review by the office since the spring. "


def texts() -> Choices:
    """Return fourteen levels of text, for prompts: seven lengths at two positions."""
    written = tuple((_SENTENCE * 6)[: length - 1] + "." for length in TEXT_LENGTHS)
    return Choices("prompt.splice", {"text": written, "position": ("end", "start")})


def space(*choices: Choices) -> Space:
    """Return the space of some levels under the benchmark's cost model."""
    return Space(choices, MODEL)
