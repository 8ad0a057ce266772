"""Perturbations and faults: operators, injections, schedules, their cost and their space."""
