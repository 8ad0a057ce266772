"""The loop of a study: it advances the searches and collects their violations."""

__all__: list[str] = []
