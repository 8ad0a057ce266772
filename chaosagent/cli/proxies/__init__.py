"""The command that puts faults between an agent and its services."""

__all__: list[str] = []
