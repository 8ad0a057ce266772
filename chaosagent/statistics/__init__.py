"""Statistics: intervals for shares."""
