"""What is made of stored studies."""

__all__: list[str] = []
