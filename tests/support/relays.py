# SPDX-License-Identifier: Apache-2.0
"""A port of the loopback address as others see it, for servers of tests that listen nowhere else."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Generator


@contextlib.contextmanager
def relay(address: str, port: int) -> Generator[int]:
    """Where `port` of this machine is reached at `address`; the port itself where that is the loopback address."""
    if address == "127.0.0.1":
        yield port
        return
    with socket.create_server((address, 0)) as listening:
        threading.Thread(target=_accept, args=(listening, port), daemon=True).start()
        yield int(listening.getsockname()[1])


def _accept(listening: socket.socket, port: int) -> None:
    with contextlib.suppress(OSError):  # closed by who opened it
        while True:
            one, _ = listening.accept()
            other = socket.create_connection(("127.0.0.1", port))
            threading.Thread(target=_serve, args=(one, other), daemon=True).start()


def _serve(one: socket.socket, other: socket.socket) -> None:
    with one, other:
        back = threading.Thread(target=_pump, args=(other, one), daemon=True)
        back.start()
        _pump(one, other)
        back.join()


def _pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while piece := source.recv(65536):
            target.sendall(piece)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
