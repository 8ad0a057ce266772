"""Runs: one target under one schedule, in this process or in workers."""
