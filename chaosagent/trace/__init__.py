"""Message-Action Traces: the immutable, ordered steps of one run."""

__all__ = ["spans", "step", "trace"]
