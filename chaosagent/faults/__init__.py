"""Perturbations and faults: operators, injections, schedules, their cost and their space."""

__all__ = ["crossing", "evaluation", "injection", "online", "operator", "schedule", "space"]
