"""What an agent starts in the place of an MCP server: it joins its stdin and stdout to the run.

Run as a file, with nothing but the standard library, so that it starts at once: host, port and the word that lets in.
"""

from __future__ import annotations

import os
import socket
import sys
import threading

CHUNK = 65_536


def main() -> None:
    """Pass bytes on in both directions until one side ends."""
    host, port, word = sys.argv[1:4]
    with socket.create_connection((host, int(port))) as run:
        run.sendall(f"{word}\n".encode())
        threading.Thread(target=_to_agent, args=[run], daemon=True).start()
        while data := os.read(0, CHUNK):
            run.sendall(data)
        run.shutdown(socket.SHUT_WR)


def _to_agent(run: socket.socket) -> None:
    try:
        while data := run.recv(CHUNK):
            while data:
                data = data[os.write(1, data) :]
    except OSError:
        pass  # the agent or the run is gone, and that ends it, too
    os._exit(0)


if __name__ == "__main__":
    main()
