"""The Python API: what the commands do, as functions with typed results; `chaosagent` itself offers the same names."""

__all__ = [
    "check_traces",
    "counterexample",
    "load_study",
    "result",
    "robustness",
    "rows",
    "search_study",
    "study",
]
