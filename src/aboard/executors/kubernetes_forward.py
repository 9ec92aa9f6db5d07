# SPDX-License-Identifier: Apache-2.0
"""`python -m aboard.executors.kubernetes_forward HANDLE HERE:THERE…`: ports of a unit on the loopback address.

It is a local unit itself, and ends when the unit it leads to has ended.
"""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
import time
from typing import Any

from aboard.errors import AboardError
from aboard.executors.kubernetes import LISTENS, Kubernetes
from aboard.executors.kubernetes_forwarded import Forwarded
from aboard.executors.kubernetes_place import Place
from aboard.executors.registry import executor_of
from aboard.model.unit_handle import UnitHandle

_LOOK_SECONDS = 5.0
_SILENT_SECONDS = 600.0
_CHUNK = 64 << 10


def forward(forwarded: Forwarded, ports: list[tuple[int, int]]) -> None:
    """Listen until the unit has ended."""
    for here, there in ports:
        listening = socket.create_server(("127.0.0.1", here))
        threading.Thread(target=_accept, args=(forwarded, listening, there), daemon=True).start()
    _say(LISTENS)
    pause = _LOOK_SECONDS if forwarded.idle_seconds is None else min(_LOOK_SECONDS, forwarded.idle_seconds / 4 + 0.05)
    answered = time.monotonic()
    while True:
        time.sleep(pause)
        try:
            if forwarded.has_ended():
                return
            answered = time.monotonic()
            forwarded.rest_if_idle()
        except AboardError as error:
            _say(str(error))  # looked at again
            if time.monotonic() - answered > _SILENT_SECONDS:
                return  # whoever asks for the endpoint later gets another tunnel


def _accept(forwarded: Forwarded, listening: socket.socket, port: int) -> None:
    while True:
        connection, _ = listening.accept()
        threading.Thread(target=_serve, args=(forwarded, connection, port), daemon=True).start()


def _serve(forwarded: Forwarded, connection: socket.socket, port: int) -> None:
    with connection:
        try:
            stream, close = forwarded.connect(port)
        except AboardError as error:
            _say(str(error))
            return
        try:
            there = stream.socket(port)
            there.setblocking(True)
            back = threading.Thread(target=_pump, args=(there, connection), daemon=True)
            back.start()
            _pump(connection, there)
            back.join()
            if said := stream.error(port):
                _say(str(said))
        finally:
            close()


def _pump(source: Any, target: Any) -> None:
    """Pass on what comes until one side ends, then end the other direction of neither: the protocol knows no half."""
    try:
        while piece := source.recv(_CHUNK):
            target.sendall(piece)
    except OSError:
        pass
    for one in (source, target):
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def forwarded_unit(handle: UnitHandle) -> Forwarded:
    """The unit of a handle, as its ports are forwarded."""
    executor = executor_of(handle)
    assert isinstance(executor, Kubernetes)
    address, place = executor.address_of(handle), Place.of(handle)
    return Forwarded(address=address, place=place, idle_seconds=executor.idle_seconds)


def main(arguments: list[str]) -> None:
    """Forward what the command line says."""
    handle = UnitHandle.parse(arguments[0])
    pairs = [text.split(":") for text in arguments[1:]]
    forward(forwarded_unit(handle), [(int(here), int(there)) for here, there in pairs])


if __name__ == "__main__":
    main(sys.argv[1:])
