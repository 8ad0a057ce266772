"""Small targets, drawn from a seed or written by hand, that tests compare with exhaustive enumeration."""
