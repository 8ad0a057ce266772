"""The families of the planted benchmark, one per file."""
