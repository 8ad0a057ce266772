"""Causes: counterexamples that go wrong at the same place in the same way, whatever contracts they break."""

__all__: list[str] = []
