"""Operators at the boundary `service`: they act on services and tools."""

__all__ = [
    "delay",
    "dropped_response",
    "duplicate_delivery",
    "error_status",
    "false_success",
    "field_corruption",
    "late_duplicate",
    "lost_response",
    "metadata_change",
    "partial_page",
    "partial_response",
    "pending",
    "schema_mismatch",
    "stale_response",
    "timeout",
    "wrong_unit",
]
