"""Operators at the boundary `retrieval`: they act on retrieval."""

__all__ = ["distractor", "drop_top", "empty", "perturb_ranking", "poisoned_passage", "stale_index", "truncate"]
