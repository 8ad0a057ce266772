"""A support desk built with pydantic-ai, and its study."""
