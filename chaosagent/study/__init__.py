"""Studies: all trials of one search for counterexamples, what they told, and what follows from it."""

__all__ = ["certificate", "counterexample", "plan", "result", "searcher", "sink"]
