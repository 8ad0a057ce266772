"""Engines that are not searchers of the package, behind one protocol, one per file."""
