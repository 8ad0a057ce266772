"""Tries a sample of mutants: `python -m tests.lab.mutation --count 400 --seed 0 --jobs 1`.

Results are kept in a file, one a line, and what is there is not tried again. The first time, the tests are measured:
which lines each runs, and for how long (about ten minutes). With `--again`, survivors are tried once more, with the
test files as they are now. A survivor must be killed by a new test, or be listed in `equivalent.txt` with a reason.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections import Counter
from dataclasses import asdict
from pathlib import Path

from tests.lab.mutation.baseline import baseline_of
from tests.lab.mutation.operators import Mutant, mutants_of
from tests.lab.mutation.trials import Result, try_all

FILES = (
    "chaosagent/execution/failures.py",
    "chaosagent/execution/run/injector.py",
    "chaosagent/execution/run/passage.py",
    "chaosagent/execution/run/live_run.py",
    "chaosagent/execution/run/run_state.py",
    "chaosagent/execution/run/supervised_operator.py",
    "chaosagent/faults/dry.py",
    "searchers/proof/audit.py",
    "searchers/proof/bisection.py",
    "searchers/proof/frontier.py",
    "searchers/proof/intervals.py",
    "searchers/proof/limits.py",
    "searchers/proof/lineage.py",
    "searchers/proof/owners.py",
    "searchers/proof/lineage.py",
    "searchers/proof/uniform_cost.py",
)
# Of files that hold more, the functions that belong to a crossing.
CROSSING = ("enter", "cross", "pass_through", "_end", "_ask", "_disturbed", "_give_up")
FUNCTIONS = {
    "chaosagent/execution/failures.py": ("is_answer",),
    "chaosagent/execution/run/live_run.py": (*(f"LiveRun.{name}" for name in CROSSING), "_landed", "_stop"),
    "chaosagent/execution/run/run_state.py": ("RunState.too_large", "RunState.rejected"),
}
LAST = ("searchers/proof/audit.py", "searchers/proof/uniform_cost.py")
# With `--again` all quick tests of these files are run, also new ones, and those of the file named after a module.
MORE_TESTS = {
    "chaosagent/execution": tuple(
        f"tests/execution/test_{name}.py" for name in ("cut_off", "injections", "mediation", "supervised")
    ),
    "searchers/proof": ("tests/searchers/proof/test_uniform_cost_effort.py",),
}
EQUIVALENT = Path(__file__).with_name("equivalent.txt")


def sample(count: int, seed: int) -> list[Mutant]:
    """Return a random sample of all mutants in a random order, the files that take longest last."""
    mutants = [
        mutant for path in FILES for mutant in mutants_of(path, Path(path).read_bytes(), FUNCTIONS.get(path, ()))
    ]
    chosen = random.Random(seed).sample(mutants, min(count, len(mutants)))
    return sorted(chosen, key=lambda mutant: mutant.path in LAST)


def tests_of(path: str) -> list[str]:
    """Return the test files that are nearest to a module."""
    folder, stem = Path(path).parent, Path(path).stem
    place = Path("tests", *folder.parts[folder.parts[0] == "chaosagent" :])
    return sorted({*MORE_TESTS.get(str(folder), ()), *map(str, place.glob(f"test_{stem}*.py"))})


def equivalent() -> dict[str, str]:
    """Return the reasons by the keys of mutants that no test can notice."""
    lines = EQUIVALENT.read_text("utf-8").splitlines() if EQUIVALENT.exists() else []
    entries = [line.partition(" | ") for line in lines if line and not line.startswith("#")]
    return {key: reason for key, _, reason in entries}


def main() -> int:
    """Try mutants, and print what came of them; exit code 1 if one survived that is not listed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "mutation")
    parser.add_argument("--again", action="store_true", help="try survivors again that are not listed as equivalent")
    parser.add_argument("--only", default="", help="only mutants with this text in their key")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    mutants = [mutant for mutant in sample(asked.count, asked.seed) if asked.only in mutant.key]
    results = asked.folder / f"results-{asked.seed}.jsonl"
    known, listed = known_from(results), equivalent()
    survivors = {key for key, result in known.items() if result.outcome == "survived" and key not in listed}
    tried = [one for one in mutants if one.key not in known or (asked.again and one.key in survivors)]
    with results.open("a", encoding="utf-8") as file:

        def record(result: Result) -> None:
            known[result.key] = result
            file.write(json.dumps(asdict(result), ensure_ascii=False) + "\n")
            file.flush()
            print(f"{result.outcome}: {result.key}", file=sys.stderr, flush=True)

        if tried:
            baseline = baseline_of(FILES, asked.folder / "baseline.json")
            files_more = {path: tests_of(path) for path in FILES if asked.again}
            try_all(tried, baseline, record, jobs=asked.jobs, files_more=files_more)
    outcomes = Counter(
        "equivalent" if known[key].outcome == "survived" and key in listed else known[key].outcome
        for key in (mutant.key for mutant in mutants)
        if key in known
    )
    counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()))
    print(f"{outcomes.total()} mutants: {counts}")
    for mutant in mutants:
        if mutant.key in known and known[mutant.key].outcome == "survived" and mutant.key not in listed:
            print(f"{mutant.path}:{mutant.lines.start} {mutant.key}")
    return 1 if outcomes["survived"] else 0


def known_from(results: Path) -> dict[str, Result]:
    """Return what is in a file of results; the last of a mutant counts."""
    lines = results.read_text("utf-8").splitlines() if results.exists() else []
    return {result.key: result for line in lines for result in [Result(**json.loads(line))]}


if __name__ == "__main__":
    sys.exit(main())
