"""Operators at the boundary `prompt`: they act on prompts."""

__all__ = [
    "ambiguity",
    "distractor",
    "dropout",
    "noise",
    "paraphrase",
    "payload",
    "reorder",
    "splice",
    "synonym",
    "truncation",
]
