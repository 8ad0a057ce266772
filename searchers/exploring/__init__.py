"""How the anytime search finds: dense schedules, packs, effects and reactions."""

__all__: list[str] = []
