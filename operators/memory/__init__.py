"""Operators at the boundary `memory`: they act on memory."""

__all__ = ["cross_session_leak", "late_write", "lost_update", "reorder", "stale_read", "truncate", "untrusted_note"]
