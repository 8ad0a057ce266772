"""`chaosagent proxy`: faults between an agent that is started by hand and its model and services."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from chaosagent.cli import output
from chaosagent.cli.formats import Number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chaosagent.cli.proxies.proxying import SessionEnd

USUAL = ("openai=https://api.openai.com", "anthropic=https://api.anthropic.com")


@click.command()
@click.option(
    "--upstream",
    multiple=True,
    metavar="NAME=URL",
    help="A model behind the proxy, NAME=URL; or NAME=scripted:file.py:function, NAME=canned:answers.yaml.",
)
@click.option("--service", multiple=True, metavar="NAME=URL", help="A tool or service behind it, in the same way.")
@click.option(
    "--mcp",
    multiple=True,
    metavar="NAME=SERVER",
    help="An MCP server behind it: NAME=URL (streamable HTTP), or NAME='command args' (stdio).",
)
@click.option("--schedule", default="", help="What is injected: 'model:openai[2] slow(kind=stalled)'.")
@click.option(
    "--record",
    type=click.Path(path_type=Path),
    help="Keep all that is asked and answered, as it comes: a new file *.replay, or a folder.",
)
@click.option("--replay", type=click.Path(path_type=Path), help="Answer from such a record; nothing else is asked.")
@click.option(
    "--memo",
    type=click.Path(path_type=Path),
    help="A file of models' answers: what was asked before is not asked again.",
)
@click.option("--prompts", is_flag=True, help="Let what tools answered cross `prompt` before a model reads it.")
@click.option(
    "--body-mb",
    type=Number(0.001, 100),
    default=4.0,
    show_default=True,
    metavar="MB",
    help="Megabytes (10^6 bytes) of a request's body, answered with 413 above; and of an upstream's answer (502).",
)
@click.option(
    "--total-mb",
    type=Number(0.001, 4_000),
    default=256.0,
    show_default=True,
    metavar="MB",
    help="Megabytes of requests and answers at which the session ends; they are kept in memory, too.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=0,
    show_default=True,
    help="On loopback; 0 takes a free one.",
)
@click.option("--json", is_flag=True, help="Print one JSON object at the end.")
def proxy(
    *,
    upstream: tuple[str, ...],
    service: tuple[str, ...],
    mcp: tuple[str, ...],
    schedule: str,
    record: Path | None,
    replay: Path | None,
    memo: Path | None,
    prompts: bool,
    body_mb: float,
    total_mb: float,
    port: int,
    json: bool,
) -> int:
    """Stand between an agent in any language and its model, services and MCP servers: record, disturb, memoise, replay.

    Prints the variables to set for the agent, such as OPENAI_BASE_URL, as `export` lines on stdout (on stderr with
    --json) and all else on stderr, and runs until Ctrl-C. Their addresses hold a
    token that changes with every session, so that no page in a browser can use the proxy; clients take such an address
    as their base_url. Requests with an Origin, or for another host than 127.0.0.1 and localhost, are refused.

    Of an MCP server it prints what the agent's client is given in its place: a command to start, SHOP_MCP_COMMAND, and
    for a server with a URL also a URL, SHOP_MCP_URL. Keys in headers, and in parameters that are called so, are passed
    on and not kept. Where nothing is named to stand behind it, that is openai=https://api.openai.com and
    anthropic=https://api.anthropic.com. A search starts an agent by itself: see `chaosagent.adapters.command`.

    With --record each answer stands in the file before it is given out, so that a proxy that is killed, runs into a
    full disk or meets a limit loses nothing that it has answered; --replay and `chaosagent show` read such a file, too.
    The file must not be there yet; in a folder each session has one of its own.

    Exit code: 0; 2 when an option is wrong or the record cannot be begun; 4 when it can no longer be written; 3 when
    the session has reached its limit, or, with --replay, when the agent asked something else than the record knows, or
    less.

    \b
    Examples:
      chaosagent proxy --record session.replay
      chaosagent proxy --upstream openai=https://api.openai.com --schedule "model:openai[2] slow(kind=stalled)"
      chaosagent proxy --mcp shop='node shop.mjs' --schedule "service:shop.refund[1] service.lost_response"
      chaosagent proxy --replay session.replay --port 8787
    """
    from chaosagent.cli.proxies.proxying import ProxyOptions, serve_session

    wish = ProxyOptions(
        models=_pairs(upstream if upstream or service or mcp else USUAL, "--upstream"),
        services=_pairs(service, "--service"),
        mcp=_pairs(mcp, "--mcp", "NAME=URL or NAME='command args', such as shop='node shop.mjs'"),
        schedule=schedule,
        record=record,
        replay=replay,
        memo=memo,
        prompts=prompts,
        port=port,
        body_mb=body_mb,
        total_mb=total_mb,
    )
    return _told(serve_session(wish, output.remark, output.remark if json else output.answer_lines), json=json)


def _told(end: SessionEnd, *, json: bool) -> int:
    """Tell how a session ended, and return the exit code."""
    if json:
        output.answer_json(end.to_json())
    else:
        output.remark(end.text())
    return end.exit_code


def _pairs(
    given: Sequence[str], option: str, form: str = "NAME=URL, such as openai=https://api.openai.com"
) -> dict[str, str]:
    """Return what was given as NAME=URL.

    Raises:
        UsageError: Something is of another form, or a name comes twice.
    """
    from chaosagent.errors import UsageError

    found: dict[str, str] = {}
    for entry in given:
        name, _, place = entry.partition("=")
        if not name or not place:
            raise UsageError(f"{option} {entry!r}: write {form}.")
        if name in found:
            raise UsageError(f"{option}: {name!r} is given twice. Give one of them another name.")
        found[name] = place
    return found
