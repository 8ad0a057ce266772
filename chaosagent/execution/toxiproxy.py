"""The Toxiproxy server of this process: found or started, and its proxies, which are removed whatever happens.

Where it is looked for, in this order: what `TOXIPROXY` names, a program or `host:port`; `toxiproxy-server` on the PATH;
what runs at 127.0.0.1:8474. A program is started on a free port and ends with this process, by whatever signal. In a
server that was running already, a proxy of a process that has ended meanwhile is removed by the next one that comes.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Callable
from typing import Any, TypeVar

from chaosagent.errors import UsageError
from chaosagent.execution.child_server import LOOPBACK, ChildServer, can_connect, start_server
from chaosagent.extras import require
from chaosagent.faults.crossing import Toxic

T = TypeVar("T")

VARIABLE = "TOXIPROXY"
PROGRAM = "toxiproxy-server"
USUAL_PORT = 8474
LOWEST, BELOW = (2, 2), (3,)
"""Versions that know all toxics; one that was built with `go install` does not know its own and is taken."""
HOW_TO_GET = (
    "Install it: `brew install shopify/shopify/toxiproxy`; or a release from "
    "https://github.com/Shopify/toxiproxy/releases; or `go install "
    f"github.com/Shopify/toxiproxy/v2/cmd/server@v2.12.0` and {VARIABLE}=$(go env GOPATH)/bin/server. Or run its "
    "container: `docker run --network host ghcr.io/shopify/toxiproxy:2.12.0`."
)
VERSION_SECONDS = 60.0
"""How long a program may take to say its version."""
DOWN = "down"

_UNSUITED = re.compile(r"[^A-Za-z0-9_-]")
_OURS = re.compile(r"chaosagent\.([A-Za-z0-9_-]*)\.(\d+)\.\d+\.[A-Za-z0-9_-]*")
_NUMBERS = itertools.count(1)


class Server:
    """A Toxiproxy server.

    Args:
        host: Where its API listens; a server on another machine could not listen on our loopback.
        port: Of its API.
        companion: Its process, when this one has started it.
        program: What was started.

    Attributes:
        version: What it calls its version; `"git"` for one that was built with `go install`.

    Raises:
        UsageError: Nothing listens there, or something else than a Toxiproxy that is supported.
        MissingExtraError: The extra `network` is not installed.
    """

    def __init__(self, host: str, port: int, companion: ChildServer | None = None, program: str = "") -> None:
        self.host, self.port, self.companion, self.program = host, port, companion, program
        self._client = require("toxiproxy", extra="network", needed_by="An operator of the boundary `network`")
        self._requests = require("requests", extra="network", needed_by="An operator of the boundary `network`")
        where = f"{host}:{port}"
        if not can_connect(host, port):
            raise UsageError(f"No Toxiproxy listens at {where}. Start it, or leave out {VARIABLE}. {HOW_TO_GET}")
        self.version = _version_in(self.asked(self._api().version) or b"")
        if not _is_supported(self.version):
            raise UsageError(
                f"What listens at {where} is no Toxiproxy from 2.2 on and below 3: it calls its version "
                f"{self.version!r:.80}. {HOW_TO_GET}"
            )

    def proxy(self, name: str, upstream: str) -> Proxy:
        """Put a proxy in front of a server, on a free port of loopback.

        Args:
            name: Of the interface.
            upstream: `"host:port"` of the server.

        Raises:
            UsageError: The Toxiproxy server cannot do so.
        """
        own = f"chaosagent.{_here()}.{os.getpid()}.{next(_NUMBERS)}.{_UNSUITED.sub('_', name)}"
        made = self.asked(lambda: self._api().create(upstream, own, listen=f"{LOOPBACK}:0"))
        return Proxy(self, made)

    def remove_stale(self) -> list[str]:
        """Remove the proxies of processes of this machine that have ended, and return their names."""
        removed = []
        for name, proxy in sorted(self.asked(self._api().proxies).items()):
            found = _OURS.fullmatch(name)
            if found is not None and found[1] == _here() and not _is_alive(int(found[2])):
                self.asked(proxy.destroy)
                removed.append(name)
        return removed

    def proxies(self) -> list[str]:
        """Return the names of all proxies that the server has, sorted."""
        return sorted(self.asked(self._api().proxies))

    def is_enabled(self, name: str) -> bool:
        """Whether a proxy is there and accepts connections."""
        proxy = self.asked(lambda: self._api().get_proxy(name))
        return proxy is not None and bool(proxy.enabled)

    def end(self) -> None:
        """End the server, if this process has started it."""
        if self.companion is not None:
            self.companion.end()

    def _api(self) -> Any:
        """Return the client; the package keeps one address for the whole process."""
        api = self._client.Toxiproxy()
        api.update_api_consumer(self.host, self.port)
        return api

    def asked(self, question: Callable[[], T]) -> T:
        """Ask the server.

        Raises:
            UsageError: It does not answer, or refuses; of some refusals the package says only that a key is missing.
        """
        self._api()
        known = self._client.exceptions
        refusals = (known.ProxyExists, known.NotFound, known.InvalidToxic)
        try:
            return question()
        except refusals as error:
            told = error.args[0].decode(errors="replace") if error.args and isinstance(error.args[0], bytes) else error
            raise UsageError(f"Toxiproxy at {self.host}:{self.port} refuses: {told!s:.300}".rstrip()) from error
        except KeyError as error:
            raise UsageError(
                f"Toxiproxy at {self.host}:{self.port} could not open the proxy's port; it may be taken. Its log says "
                "more."
            ) from error
        except (self._requests.RequestException, ValueError) as error:
            raise UsageError(f"Toxiproxy at {self.host}:{self.port} does not answer: {error!s:.300}") from error


class Proxy:
    """A proxy in front of one server, for one run.

    Args:
        server: The Toxiproxy server.
        proxy: As the client package has it.

    Attributes:
        host: Where it listens.
        port: Where it listens.
    """

    def __init__(self, server: Server, proxy: Any) -> None:
        self._server, self._proxy = server, proxy
        self.host, _, port = str(proxy.listen).rpartition(":")
        self.port = int(port)
        self._down = 0

    def put(self, toxic: Toxic, name: str) -> None:
        """Disturb the connections, open ones and new ones; `UsageError` when the server does not know how."""
        if toxic.type == DOWN:
            self._down += 1
            self._server.asked(self._proxy.disable)
            return
        attributes = dict(toxic.attributes)
        self._server.asked(
            lambda: self._proxy.add_toxic(name=name, type=toxic.type, stream=toxic.stream, attributes=attributes)
        )

    def take(self, toxic: Toxic, name: str) -> None:
        """Disturb them no longer; `UsageError` when the server does not answer, or the port was taken meanwhile."""
        if toxic.type != DOWN:
            self._server.asked(lambda: self._proxy.destroy_toxic(name))
            return
        self._down -= 1
        if not self._down:
            self._server.asked(self._proxy.enable)
            if not self._server.is_enabled(self._proxy.name):  # the client package does not say that this has failed
                raise UsageError(
                    f"Port {self.port} of {self.host} was taken by another process while the proxy was down; try again."
                )

    def remove(self) -> None:
        """Close every connection and remove the proxy; `UsageError` when the server does not answer."""
        self._server.asked(self._proxy.destroy)


def server() -> Server:
    """Return the server of this process; found or started when it is asked for first.

    Raises:
        UsageError: There is none, or one of another version.
        MissingExtraError: The extra `network` is not installed.
    """
    known = _SERVERS.get(os.getpid())
    if known is None or (known.companion is not None and not known.companion.running):
        _SERVERS.clear()
        known = _SERVERS[os.getpid()] = found()
        if known.companion is None:
            known.remove_stale()
    return known


_SERVERS: dict[int, Server] = {}


def found() -> Server:
    """Find or start a server; as `server`, but another one each time."""
    named = os.environ.get(VARIABLE, "")
    host, _, port = named.rpartition(":")
    if port.isdecimal() and "/" not in named:
        return Server(_loopback(host), int(port))
    if named and shutil.which(named) is None:
        raise UsageError(f"{VARIABLE}={named!r:.200} names no program that can be run, and no host:port. {HOW_TO_GET}")
    program = shutil.which(named or PROGRAM)
    if program is not None:
        return _of_program(program)
    if can_connect(LOOPBACK, USUAL_PORT):
        return Server(LOOPBACK, USUAL_PORT)
    raise UsageError(
        f"No Toxiproxy is found: {PROGRAM} is not on the PATH, nothing listens at {LOOPBACK}:{USUAL_PORT}, and "
        f"{VARIABLE} is not set. {HOW_TO_GET}"
    )


def _of_program(program: str) -> Server:
    try:
        asked = [program, "-version"]
        said = subprocess.run(asked, capture_output=True, text=True, timeout=VERSION_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"{program} cannot be run: {error}. {HOW_TO_GET}") from error
    version = said.stdout.strip().rpartition(" ")[2]
    if "toxiproxy" not in said.stdout.lower() or not _is_supported(version):
        text = (said.stdout or said.stderr).strip()
        raise UsageError(f"{program} is no Toxiproxy from 2.2 on and below 3; it says {text!r:.80}. {HOW_TO_GET}")
    companion, port = start_server(lambda port: [program, "-host", LOOPBACK, "-port", str(port)], "Toxiproxy")
    try:
        return Server(LOOPBACK, port, companion, program)
    except BaseException:
        companion.end()
        raise


def _loopback(host: str) -> str:
    """Return a host's address; what is written as a URL is understood, too.

    Raises:
        UsageError: It is another machine, whose proxies we could not reach.
    """
    name = host.rpartition("/")[2] or LOOPBACK
    try:
        address = socket.gethostbyname(name)
    except OSError as error:
        raise UsageError(f"{VARIABLE}={host!r}: there is no such host ({error}).") from error
    if not address.startswith("127."):
        raise UsageError(f"{VARIABLE}: {name} is another machine; the server must run on this one, on {LOOPBACK}.")
    return address


def _version_in(answer: bytes) -> str:
    """Return the version in an answer of the API: a bare text until 2.5, JSON after that."""
    text = answer.decode(errors="replace").strip()
    try:
        told = json.loads(text)
    except ValueError:
        return text
    return str(told.get("version", text)) if isinstance(told, dict) else text


def _is_supported(version: str) -> bool:
    if version == "git":
        return True
    numbers = re.match(r"v?(\d+)\.(\d+)", version)
    return numbers is not None and LOWEST <= (int(numbers[1]), int(numbers[2])) < BELOW


def _here() -> str:
    return _UNSUITED.sub("_", socket.gethostname())


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
