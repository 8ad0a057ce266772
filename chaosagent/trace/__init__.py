"""Message-Action Traces: the immutable, ordered steps of one run."""
