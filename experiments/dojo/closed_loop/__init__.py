"""An agent for AgentDojo's suites that decides each step from what it has read, with no list of answers."""
