"""`chaosagent doctor`: look at a target before it is searched."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import click

from chaosagent.cli import output
from chaosagent.cli.formats import Number, json_flag

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from chaosagent.study.determinism.preflight import Remark

READY, TO_MEND = 0, 1
SECONDS_MAX = 30.0
"""Real time of one run by default; a search gives more, but whoever asks for a doctor waits."""


@click.command()
@click.argument("target", metavar="TARGET")
@click.option("--config", help="One of its configurations; its first by default.")
@click.option("--task", multiple=True, help="Only this task; may be given several times.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the runs.")
@click.option(
    "--fresh", is_flag=True, help="Give each run a process of its own, as `fresh: true` in a study file does."
)
@click.option(
    "--wall-seconds",
    type=Number(0.1),
    default=SECONDS_MAX,
    show_default=True,
    help="Real time that one run may take; a search allows run.wall_seconds.",
)
@json_flag
def doctor(
    target: str,
    *,
    config: str | None,
    task: tuple[str, ...],
    seed: int,
    fresh: bool,
    wall_seconds: float,
    json: bool,
) -> int:
    """Look at a target before it is searched, and at what is installed.

    TARGET is the name of a target, module:attribute or file.py:attribute.

    Runs every task without injections, several times here and in another process with another hash seed, and names the
    first difference with its likely cause (clock, uuid, random numbers, order of a set, threads) and the remedy. Of a
    run that crashes it prints the last step and, of a command, all of stderr. Says which boundaries are crossed, what
    the target could declare, and which optional tools are found.

    Exit code: 0 the target can be searched, 1 something must be fixed first.

    \b
    Examples:
      chaosagent doctor agent.py:agent
      chaosagent doctor triage --config hardened --task refund-damaged --json
    """
    from chaosagent.report.preflight_page import preflight_page
    from chaosagent.study.determinism.preflight import Level

    with output.stdout_for_answers(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "coroutine .* was never awaited")  # the remarks say it, once
        remarks = list(_remarks(target, config, task, seed, fresh=fresh, wall_seconds=wall_seconds))
        remarks += _installed(
            network=any("network:" in remark.text or "Toxiproxy" in remark.text for remark in remarks)
        )
    if json:
        output.answer_json({"target": target, "remarks": [remark.to_json() for remark in remarks]})
    else:
        output.answer(preflight_page(target, remarks))
    return TO_MEND if any(remark.level is Level.BAD for remark in remarks) else READY


def _remarks(
    reference: str, config: str | None, tasks: Sequence[str], seed: int, *, fresh: bool, wall_seconds: float
) -> Iterator[Remark]:
    from chaosagent.contracts.catalogue import default_contracts
    from chaosagent.execution.workers.second_process import open_second_process
    from chaosagent.importable import make_importable
    from chaosagent.limits import RunLimits
    from chaosagent.report.story import quantity
    from chaosagent.study.determinism.preflight import Level, PreflightSetup, Remark, preflight
    from chaosagent.studyfile.plan import WorkerSetup
    from chaosagent.targets.loading import load_target

    folder = Path.cwd()
    make_importable(folder)
    found = load_target(reference, where="chaosagent doctor")
    chosen = found.config(config, "--config").name if config else next(iter(found.configs))
    where = "--task" if tasks else "chaosagent doctor"
    names = [found.task(name, where).id for name in tasks or found.tasks]
    specs = tuple(contract.id for contract in default_contracts())
    limits = RunLimits(wall_seconds_max=wall_seconds)
    setup = WorkerSetup(reference, str(folder), chosen, specs, limits, fresh=fresh)
    here = setup()
    kind = "a plain function" if found.synchronous else "an asynchronous function"
    text = f"{found.name}, {kind}, {found.clock.value} time, {quantity(len(names), 'task')}, configuration {chosen!r}"
    yield Remark(Level.GOOD, "target", text)
    yield from preflight(PreflightSetup(names, seed, here, lambda: open_second_process(setup, limits=limits)))


def _installed(*, network: bool) -> Iterator[Remark]:
    """Say which optional tools are found; those of a framework are told by its adapter.

    Args:
        network: The target has links, for which Toxiproxy is needed.
    """
    from importlib.util import find_spec

    from chaosagent.study.determinism.preflight import Level, Remark

    extras = {
        "report": "matplotlib",
        "search": "optuna",
        "statistics": "scipy",
        "deterministic": "time_machine",
        **({"network": "toxiproxy"} if network else {}),
        "ray": "ray",
    }
    missing = [extra for extra, module in extras.items() if find_spec(module) is None]
    if missing:
        yield Remark(
            Level.HINT,
            "extras",
            f"not installed: {', '.join(missing)}",
            f"pip install 'chaosagent[{','.join(missing)}]'",
        )
    toxiproxy = _toxiproxy()
    if network or toxiproxy.level is Level.GOOD:
        yield toxiproxy


def _toxiproxy() -> Remark:
    """Say which Toxiproxy server is found; one that has to be started is, for as long as it takes to ask it."""
    from chaosagent.errors import UsageError
    from chaosagent.execution.toxiproxy import found
    from chaosagent.study.determinism.preflight import Level, Remark

    try:
        server = found()
    except UsageError as error:
        return Remark(Level.HINT, "toxiproxy", f"only operators of the boundary `network` need it. {error}")
    try:
        version = "of unknown version, as `go install` builds it" if server.version == "git" else server.version
        started = f"{server.program}, started for this" if server.program else f"running at {server.host}:{server.port}"
        return Remark(Level.GOOD, "toxiproxy", f"{version}, {started}")
    finally:
        server.end()
