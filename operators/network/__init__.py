"""Operators on real TCP connections."""

__all__ = ["bandwidth", "down", "jitter", "latency", "limit_data", "reset_peer", "slicer", "slow_close", "timeout"]
