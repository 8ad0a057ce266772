"""AgentDojo tasks as a target."""
