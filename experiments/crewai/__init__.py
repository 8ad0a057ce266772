"""A support crew built with CrewAI, and its study."""
