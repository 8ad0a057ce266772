"""Attacks on what the searchers call proved: random concurrent programs against brute force."""
