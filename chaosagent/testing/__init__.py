"""For tests of plug-ins: conformance suites, crossings and steps made by hand, and Hypothesis strategies.

`operators`, `searchers` and `adapters` hold the suites that each built-in part passes; `desk` is what an adapter's
suite asks for. `crossings` and `steps` let a test try an operator or a contract without a run; `bench`, `needles` and
`enumeration` compare a searcher with exhaustive enumeration; `strategies` draws hooks, operators, injections and
schedules.
"""

__all__ = [
    "adapters",
    "bench",
    "crossings",
    "desk",
    "enumeration",
    "needles",
    "operators",
    "searchers",
    "steps",
    "strategies",
]
