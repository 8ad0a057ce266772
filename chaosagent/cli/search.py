"""`chaosagent search`: find the cheapest schedules that break a target."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias, TypeVar

import typer

from chaosagent.cli import output
from chaosagent.cli.formats import Formats, GitHub, JUnit, Sarif
from chaosagent.errors import UnknownNameError
from chaosagent.limits import WORKERS_MAX

if TYPE_CHECKING:
    from chaosagent.study.plan import Shard

OUT = Path("chaosagent-out")
SHARDS_MAX = 10_000
T = TypeVar("T")
Where: TypeAlias = Annotated[
    str,
    typer.Option(
        help="Where runs happen: `inline`, in this process, without the limits wall_seconds and memory_megabytes; "
        "`process`, in workers; `ray`, on a cluster."
    ),
]
Workers: TypeAlias = Annotated[
    int | None,
    typer.Option(help="Worker processes; one a core by default.", min=1, max=WORKERS_MAX, show_default=False),
]
Address: TypeAlias = Annotated[
    str, typer.Option(help="Of a running Ray cluster; a local one is started otherwise.", show_default=False)
]
AllMinimal: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--all-minimal",
        help="Find every minimal counterexample within the budget, not only a cheapest: one for each set of hooks, "
        "as other faults of the same cost or a higher one at these hooks count as the same.",
    ),
]
Trials: TypeAlias = Annotated[int | None, typer.Option(help="Limit of trials per search.", min=1, show_default=False)]
Signatures: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="Go on after the cheapest counterexample until a search knows this many kinds of failure.",
        min=1,
        max=100_000,
        show_default=False,
    ),
]

Resume: TypeAlias = Annotated[bool, typer.Option("--resume", help="Go on with a study that was ended before its end.")]
Part: TypeAlias = Annotated[
    str,
    typer.Option(
        "--shard",
        help="Search only this part of the tasks and seeds, such as 1/4; `chaosagent merge` puts parts together.",
        metavar="I/N",
        show_default=False,
    ),
]
Seconds: TypeAlias = Annotated[
    float | None,
    typer.Option(help="End the study after this much time, in all its sessions.", min=0.001, show_default=False),
]
Until: TypeAlias = Annotated[
    str | None,
    typer.Option(help="End this session at a time of day, such as 08:00.", metavar="HH:MM", show_default=False),
]
Searcher: TypeAlias = Annotated[
    str | None,
    typer.Option(help="Another searcher; see `chaosagent list searchers`.", metavar="NAME", show_default=False),
]


def search(
    study: Annotated[Path, typer.Argument(help="The study file, YAML.", metavar="STUDY.yaml", show_default=False)],
    *,
    executor: Where = "inline",
    workers: Workers = None,
    ray_address: Address = "",
    resume: Resume = False,
    shard: Part = "",
    out: Annotated[
        Path | None, typer.Option(help="Folder of the study; chaosagent-out/NAME by default.", show_default=False)
    ] = None,
    budget: Annotated[
        float | None, typer.Option(help="Search schedules up to this cost.", min=0, show_default=False)
    ] = None,
    trials: Trials = None,
    seconds: Seconds = None,
    until: Until = None,
    seed: Annotated[
        list[int] | None, typer.Option(help="Seed of the runs; may be given several times.", show_default=False)
    ] = None,
    config: Annotated[str | None, typer.Option(help="Another configuration of the target.", show_default=False)] = None,
    task: Annotated[
        list[str] | None, typer.Option(help="Only this task; may be given several times.", show_default=False)
    ] = None,
    contract: Annotated[
        list[str] | None, typer.Option(help="Only this contract; may be given several times.", show_default=False)
    ] = None,
    all_minimal: AllMinimal = False,
    signatures: Signatures = None,
    searcher: Searcher = None,
    every: Annotated[bool, typer.Option("--all", help="Show each counterexample, not one of each kind.")] = False,
    junit: JUnit = None,
    sarif: Sarif = None,
    github: GitHub = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Find the cheapest schedule of faults that breaks each contract, and prove that nothing cheaper does.

    Options take the place of the keys of the study file. The folder holds study.db with every trial,
    study.yaml as run, progress.json (see `chaosagent status`), report.html, and replays/ with a record of
    each counterexample. The result is the same whatever the executor.

    Exit code: 1 counterexamples were found, 0 none exists within the budget, 3 none was found but some may exist, or a
    named operator or pattern could not be tested, 4 the target or the executor failed.

    [bold]Examples[/bold]

    chaosagent search study.yaml

    chaosagent search study.yaml --config hardened --budget 2.5

    chaosagent search study.yaml --searcher random --out baseline

    chaosagent search study.yaml --until 08:00

    chaosagent search study.yaml --resume

    chaosagent search study.yaml --shard 1/4

    chaosagent search study.yaml --all-minimal --trials 20000

    chaosagent search study.yaml --executor process --workers 8 --json > found.json
    """
    from chaosagent.cli.session import EXECUTORS, WorkerSettings, exit_code_of, run_study, write_beside
    from chaosagent.report.findings import findings_page, next_page
    from chaosagent.report.findings_json import findings_json
    from chaosagent.report.formats.search_cases import cases_of_findings
    from chaosagent.studyfile import Overrides, load_study

    formats = Formats(junit, sarif, github)
    formats.check()
    if executor not in EXECUTORS:
        raise UnknownNameError("executor", executor, EXECUTORS, "--executor")
    several = all_minimal or None, signatures
    named = _tuple(task), _tuple(seed), _tuple(contract)
    asked = Overrides(config, *named, budget, trials, *several, searcher=searcher, seconds=seconds, until=until)
    file = load_study(study, asked)
    folder = out or OUT / "-".join(filter(None, (file.name, config, shard.replace("/", "-of-"))))
    workforce, part = WorkerSettings(executor, workers, ray_address), _shard(shard)
    findings = run_study(file, folder, workforce, title=file.name, resume=resume, shard=part)
    formats.write("chaosagent search", cases_of_findings(findings))
    if json:
        output.answer_json(findings_json(findings))
    else:
        output.answer(findings_page(findings, every=every).add(next_page(findings)))
    output.remark(f"chaosagent: {write_beside(folder)}")
    return exit_code_of(findings)


def _shard(text: str) -> Shard:
    """Return which part of a study is meant.

    Raises:
        UsageError: It is not written as `2/4`, or there is no such part.
    """
    from chaosagent.errors import UsageError
    from chaosagent.study.plan import WHOLE, Shard

    if not text:
        return WHOLE
    number, slash, of = text.partition("/")
    if not (slash and number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of) <= SHARDS_MAX):
        raise UsageError(f"--shard {text}: write it as 2/4, for the second of four parts, of at most {SHARDS_MAX}.")
    return Shard(int(number), int(of))


def _tuple(values: list[T] | None) -> tuple[T, ...] | None:
    return tuple(values) if values else None
