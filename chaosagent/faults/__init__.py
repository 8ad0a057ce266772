"""Boundaries, hooks, operators, injections, schedules and their cost."""
