"""Kills a study again and again, and asks for its status all the time."""
