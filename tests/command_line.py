"""The command line for a process of its own, where a search repeats no runs in eight further processes.

Starting these takes most of the time of a small search. The commands of `README.md` are run with them.
"""

PROGRAM = """
from chaosagent.api import session
from chaosagent.cli.main import main
session._processes_for = lambda *_: None
raise SystemExit(main())
"""
