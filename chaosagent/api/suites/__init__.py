"""Records of counterexamples as a regression test: choosing them, running them again, and what the outcomes mean."""

__all__: list[str] = []
