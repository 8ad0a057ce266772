"""What every adapter is made of, written once: see `chaosagent/adapters/README.md`."""

__all__: list[str] = []
