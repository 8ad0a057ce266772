"""Applications that nobody here wrote, run as they are."""
