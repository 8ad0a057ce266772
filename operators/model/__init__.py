"""Operators at the boundary `model`: they act on the model."""

__all__ = [
    "confabulated_success",
    "empty",
    "hallucinated_argument",
    "malformed_tool_call",
    "refusal",
    "repeated_turn",
    "slow",
    "truncated_stream",
    "wrong_tool",
]
