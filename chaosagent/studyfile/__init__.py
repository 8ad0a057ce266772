"""Study files: what a study is to do, as people write it down.

```yaml
target: triage              # a registered name, module:attribute, or agent.py:agent next to this file
config: naive               # one of the target's configurations; the first when left out
tasks: [refund-late-parcel] # all when left out
seeds: [0]
contracts: [default, objective]
budget: 3.5
cost: {c_tokens: 0.01, c_hook: 1.0, c_mag: 0.1}
operators:                  # the usual ones everywhere when left out, ["*"]: all
  - service.timeout
  - memory.*
  - operator: service.delay
    seconds: [5.0, 60.0]
    interfaces: ["service:payments"]
    agents: ["*"]
search: {searcher: anytime, lookahead: 1, trials: 2000, seconds: null, audit: 16, error_share: 0.2}
run: {steps: 2000, virtual_seconds: 604800, wall_seconds: 60}
```

Only `target` is needed. `default` among the contracts stands for the default ones; the others are names, mappings with
`contract: <name>` and settings, `module:attribute`, or `file.py:attribute`.

A search looks for one cheapest counterexample. `all_minimal: true` under `search` has it go on until it knows every
minimal one within the budget; `signatures: 5`, until it knows some of five different signatures.

Whatever is not allowed is a `UsageError` that names file, line and key.
"""

from __future__ import annotations

from chaosagent.studyfile.difference import difference_of
from chaosagent.studyfile.file import Overrides, StudyFile, load_study, parse_study
from chaosagent.studyfile.plan import WorkerSetup, plan_of, worker_setup

__all__ = [
    "Overrides",
    "StudyFile",
    "WorkerSetup",
    "difference_of",
    "load_study",
    "parse_study",
    "plan_of",
    "worker_setup",
]
