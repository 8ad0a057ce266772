"""The causes that stored studies found, with the pattern that each was given, to be judged by reading their traces.

Run: python -m chaosagent.experiments.benchmarks.patterns FOLDER...
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from chaosagent.api.stored.study_facts import study_facts
from chaosagent.experiments.benchmarks.measuring import markdown
from chaosagent.report.causes.cause import causes_of, finding_in
from chaosagent.report.printable import printable
from chaosagent.report.story import replay_command

HEADER = ("pattern", "cost", "contracts", "what the cheapest run does", "read it")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table of the causes in some folders."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    print(markdown(HEADER, (row for folder in parser.parse_args(arguments).folders for row in rows_of(folder))))
    return 0


def rows_of(folder: Path) -> Iterator[tuple[str, ...]]:
    """Yield a row for each cause of a study, cheapest first."""
    stored = {one.record.id: one for one in study_facts(folder).counterexamples}
    for cause in causes_of(finding_in(one.record, one.calls) for one in stored.values()):
        lead = stored[cause.lead.id]
        command = replay_command(lead.record.target_reference, lead.path).replace(" replay ", " show ")
        name = "-" if cause.pattern is None else cause.pattern.id
        yield name, f"{cause.lead.cost:g}", ", ".join(cause.contracts), printable(cause.headline), f"`{command} --all`"


if __name__ == "__main__":
    sys.exit(main())
