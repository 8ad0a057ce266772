"""Refunds, a small target with known faults."""
