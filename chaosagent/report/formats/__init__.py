"""What was found in the formats of other tools: JUnit XML, SARIF, and GitHub's annotations and step summary."""

__all__: list[str] = []
