"""How schedules are drawn from what was seen."""
