"""Properties of traces: contracts, the monitors that check them, and templates."""
