"""Doors for agents that were written with a framework: one file per framework, loaded only where it is used."""
