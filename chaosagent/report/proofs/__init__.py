"""What is said of proofs: how far they reach, what they rest on, and what stands in their place where chance plays."""

__all__: list[str] = []
