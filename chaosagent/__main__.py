"""`python -m chaosagent` is the command `chaosagent`."""

from __future__ import annotations

import sys

from chaosagent.cli.main import main

if __name__ == "__main__":  # a worker process imports this file, and must not begin again
    sys.exit(main())
