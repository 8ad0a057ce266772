"""The Python API: what the commands do, as functions with typed results; `chaosagent` itself offers the same names."""
