"""Targets that iterate sets of tasks, futures and coroutines, and counts of how many different traces they give."""
