"""Replaying records: each against its target, and what the outcomes mean."""

__all__ = ["replay_records"]
