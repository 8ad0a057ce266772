"""Contract templates: one file each, named after the contract's id; `defaults` has those that are on by default."""

__all__ = [
    "all_or_nothing",
    "at_most_once",
    "containment",
    "least_privilege",
    "no_crash",
    "no_extra_effects",
    "no_forbidden_values",
    "no_ghosts",
    "no_leak",
    "objective",
    "ordering",
    "progress",
    "promises_kept",
    "refusal_of_misuse",
    "role_boundary",
    "supported_claims",
    "termination",
    "verify_before_acting",
]
