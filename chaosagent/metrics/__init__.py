"""Numbers from the trials of a study."""
