"""What `chaosagent init` writes: a commented agent and study to begin with."""

__all__: list[str] = []
