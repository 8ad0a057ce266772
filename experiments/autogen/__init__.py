"""A support desk built with AutoGen, and its study."""
