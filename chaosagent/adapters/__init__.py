"""Doors for agents that were written with a framework: one file per framework, loaded only where it is used."""

__all__ = [
    "autogen",
    "command",
    "crewai",
    "functions",
    "langgraph",
    "mcp",
    "openai_agents",
    "pydantic_ai",
    "smolagents",
]
