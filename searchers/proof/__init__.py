"""How the exact search proves: its tree, its rules and their audit."""

__all__: list[str] = []
