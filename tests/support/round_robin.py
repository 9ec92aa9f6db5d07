# SPDX-License-Identifier: Apache-2.0
"""A front before several servers: each connection goes to the next one that answers."""

from __future__ import annotations

import contextlib
import itertools
import socket
import threading
from collections.abc import Generator, Sequence

from aboard.server.http.listening import listen


@contextlib.contextmanager
def round_robin(ports: Sequence[int]) -> Generator[int]:
    """The port of the front."""
    listener, turns = listen("127.0.0.1", 0), itertools.count()
    ended = threading.Event()

    def accept() -> None:
        while not ended.is_set():
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=_serve, args=(client, ports, next(turns)), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        ended.set()
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(5)


def _serve(client: socket.socket, ports: Sequence[int], turn: int) -> None:
    with client:
        for step in range(len(ports)):
            try:
                server = socket.create_connection(("127.0.0.1", ports[(turn + step) % len(ports)]), 5)
            except OSError:
                continue
            with server:
                server.settimeout(None)
                back = threading.Thread(target=_pump, args=(server, client), daemon=True)
                back.start()
                _pump(client, server)
                back.join()
            return


def _pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while piece := source.recv(65536):
            target.sendall(piece)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
