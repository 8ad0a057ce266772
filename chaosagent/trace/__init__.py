"""The immutable, ordered steps of one run."""
