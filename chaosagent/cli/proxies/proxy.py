"""`chaosagent proxy`: faults between an agent that is started by hand and its model and services."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from chaosagent.cli import output

if TYPE_CHECKING:
    from chaosagent.cli.proxies.proxying import SessionEnd

USUAL = ("openai=https://api.openai.com", "anthropic=https://api.anthropic.com")

Models: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        help="A model behind the proxy, NAME=URL; or NAME=scripted:file.py:function, NAME=canned:answers.yaml.",
        metavar="NAME=URL",
        show_default=False,
    ),
]
Services: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(help="A tool or service behind it, in the same way.", metavar="NAME=URL", show_default=False),
]
McpServers: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        help="An MCP server behind it: NAME=URL (streamable HTTP), or NAME='command args' (stdio).",
        metavar="NAME=SERVER",
        show_default=False,
    ),
]
RecordPath: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        help="Keep all that is asked and answered, as it comes: a new file *.replay, or a folder.",
        show_default=False,
    ),
]
ReplayPath: TypeAlias = Annotated[
    Path | None, typer.Option(help="Answer from such a record; nothing else is asked.", show_default=False)
]
MemoPath: TypeAlias = Annotated[
    Path | None,
    typer.Option(help="A file of models' answers: what was asked before is not asked again.", show_default=False),
]
BodyLimit: TypeAlias = Annotated[
    float,
    typer.Option(
        help="Megabytes (10^6 bytes) of a request's body, answered with 413 above; and of an upstream's answer (502).",
        metavar="MB",
        min=0.001,
        max=100,
    ),
]
SessionLimit: TypeAlias = Annotated[
    float,
    typer.Option(
        help="Megabytes of requests and answers at which the session ends; they are kept in memory, too.",
        metavar="MB",
        min=0.001,
        max=4_000,
    ),
]


def proxy(
    *,
    upstream: Models = None,
    service: Services = None,
    mcp: McpServers = None,
    schedule: Annotated[
        str, typer.Option(help="What is injected: 'model:openai[2] slow(kind=stalled)'.", show_default=False)
    ] = "",
    record: RecordPath = None,
    replay: ReplayPath = None,
    memo: MemoPath = None,
    prompts: Annotated[
        bool, typer.Option("--prompts", help="Let what tools answered cross `prompt` before a model reads it.")
    ] = False,
    body_mb: BodyLimit = 4.0,
    total_mb: SessionLimit = 256.0,
    port: Annotated[int, typer.Option(help="On loopback; 0 takes a free one.", min=0, max=65_535)] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object at the end.")] = False,
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

    [bold]Examples[/bold]

    chaosagent proxy --record session.replay

    chaosagent proxy --upstream openai=https://api.openai.com --schedule "model:openai[2] slow(kind=stalled)"

    chaosagent proxy --mcp shop='node shop.mjs' --schedule "service:shop.refund[1] service.lost_response"

    chaosagent proxy --replay session.replay --port 8787
    """
    from chaosagent.cli.proxies.proxying import ProxyOptions, serve_session

    wish = ProxyOptions(
        models=_pairs(upstream if upstream or service or mcp else list(USUAL), "--upstream"),
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
    given: list[str] | None, option: str, form: str = "NAME=URL, such as openai=https://api.openai.com"
) -> dict[str, str]:
    """Return what was given as NAME=URL.

    Raises:
        UsageError: Something is of another form, or a name comes twice.
    """
    from chaosagent.errors import UsageError

    found: dict[str, str] = {}
    for entry in given or ():
        name, _, place = entry.partition("=")
        if not name or not place:
            raise UsageError(f"{option} {entry!r}: write {form}.")
        if name in found:
            raise UsageError(f"{option}: {name!r} is given twice. Give one of them another name.")
        found[name] = place
    return found
