"""Properties of traces, their monitors and verdicts."""
