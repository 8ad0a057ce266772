"""The plug-in for pytest: replay records as tests, tests of targets under faults, and tests of chance.

pytest loads `plugin` whenever chaosagent is installed, so that module imports nothing of chaosagent until it is needed.
"""

__all__ = ["plugin", "record_tests", "single_run", "target_runs", "target_tests", "trials"]
