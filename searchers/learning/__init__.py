"""What single searchers learn from runs."""
