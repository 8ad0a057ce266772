"""Attacks on the checks that runs repeat: agents that read the clock, most of them only behind a fault."""
