"""Customer-support triage, the built-in target."""
