"""`chaosagent search`: find the cheapest schedules that break a target."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from chaosagent.cli import output
from chaosagent.cli.formats import Formats, Number, github_flag, json_flag, junit_file, sarif_file
from chaosagent.errors import UnknownNameError
from chaosagent.limits import WORKERS_MAX

if TYPE_CHECKING:
    from chaosagent.study.plan import Shard

OUT = Path("chaosagent-out")
SHARDS_MAX = 10_000


@click.command()
@click.argument("study", type=click.Path(path_type=Path), metavar="STUDY.yaml")
@click.option(
    "--executor",
    default="inline",
    show_default=True,
    help="Where runs happen: `inline`, in this process, without the limits wall_seconds and memory_megabytes; "
    "`process`, in workers; `ray`, on a cluster.",
)
@click.option("--workers", type=click.IntRange(1, WORKERS_MAX), help="Worker processes; one a core by default.")
@click.option("--ray-address", default="", help="Of a running Ray cluster; a local one is started otherwise.")
@click.option("--resume", is_flag=True, help="Continue a study that was ended early.")
@click.option(
    "--shard",
    default="",
    metavar="I/N",
    help="Search only this part of the tasks and seeds, such as 1/4; `chaosagent merge` puts parts together.",
)
@click.option("--out", type=click.Path(path_type=Path), help="Folder of the study; chaosagent-out/NAME by default.")
@click.option("--budget", type=Number(0), help="Search schedules up to this cost.")
@click.option("--trials", type=click.IntRange(1), help="Limit of trials per search.")
@click.option("--seconds", type=Number(0.001), help="End the study after this much time, in all its sessions.")
@click.option("--until", metavar="HH:MM", help="End this session at a time of day, such as 08:00.")
@click.option("--seed", type=int, multiple=True, help="Seed of the runs; may be given several times.")
@click.option("--config", help="Another configuration of the target.")
@click.option("--task", multiple=True, help="Only this task; may be given several times.")
@click.option("--contract", multiple=True, help="Only this contract; may be given several times.")
@click.option(
    "--all-minimal",
    is_flag=True,
    help="Find every minimal counterexample within the budget, not only a cheapest: one for each set of hooks, "
    "as other faults of the same cost or a higher one at these hooks count as the same.",
)
@click.option(
    "--signatures",
    type=click.IntRange(1, 100_000),
    help="Go on after the cheapest counterexample until a search knows this many kinds of failure.",
)
@click.option("--searcher", metavar="NAME", help="Another searcher; see `chaosagent list searchers`.")
@click.option("--all", "every", is_flag=True, help="Show each counterexample, not one of each kind.")
@junit_file
@sarif_file
@github_flag
@json_flag
def search(
    study: Path,
    *,
    executor: str,
    workers: int | None,
    ray_address: str,
    resume: bool,
    shard: str,
    out: Path | None,
    budget: float | None,
    trials: int | None,
    seconds: float | None,
    until: str | None,
    seed: tuple[int, ...],
    config: str | None,
    task: tuple[str, ...],
    contract: tuple[str, ...],
    all_minimal: bool,
    signatures: int | None,
    searcher: str | None,
    every: bool,
    junit: Path | None,
    sarif: Path | None,
    github: bool,
    json: bool,
) -> int:
    """Find the cheapest schedule of faults that breaks each contract, and prove that nothing cheaper does.

    Options take the place of the keys of the study file, STUDY.yaml. The folder holds study.db with every trial,
    study.yaml as run, progress.json (see `chaosagent status`), report.html, and replays/ with a record of
    each counterexample. The result is the same whatever the executor.

    Exit code: 1 counterexamples were found, 0 none exists within the budget, 3 none was found but some may exist, or a
    named operator or pattern could not be tested, 4 the target or the executor failed.

    \b
    Examples:
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
    named = task or None, seed or None, contract or None
    asked = Overrides(config, *named, budget, trials, *several, searcher=searcher, seconds=seconds, until=until)
    file = load_study(study, asked)
    folder = out or OUT / "-".join(filter(None, (file.name, config, shard.replace("/", "-of-"))))
    workforce, part = WorkerSettings(executor, workers, ray_address), _shard(shard)
    findings = run_study(file, folder, workforce, title=file.name, resume=resume, shard=part)
    formats.write("chaosagent search", cases_of_findings(findings), about=study)
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
