"""Benchmarks: each prints medians and ratios of one run, and the machine. Run them with `python -m`."""
