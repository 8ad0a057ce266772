"""Text, HTML and plots for people; JUnit for machines."""

__all__: list[str] = []
