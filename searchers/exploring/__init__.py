"""How the anytime search finds: dense schedules, packs, effects and reactions."""
