"""For tests of plug-ins: conformance suites, crossings and steps made by hand, and Hypothesis strategies.

`operators` and `searchers` hold the suites that each built-in part passes. `crossings` and `steps` let a test try an
operator or a contract without a run; `bench`, `needles` and `enumeration` compare a searcher with exhaustive
enumeration; `strategies` draws hooks, operators, injections and schedules.
"""

__all__ = ["bench", "crossings", "enumeration", "needles", "operators", "searchers", "steps", "strategies"]
