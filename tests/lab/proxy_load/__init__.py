"""Kills a proxy that records while many clients, slow ones and large bodies keep it busy."""
