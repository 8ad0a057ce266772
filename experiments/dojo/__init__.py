"""AgentDojo's suites as targets."""
