"""Attacks on stored data: stores and answer files damaged by bytes and by rows, then opened, resumed and read."""
