# SPDX-License-Identifier: Apache-2.0
"""The server's side of Kubernetes' port-forwarding by WebSocket (v4.channel.k8s.io) to ports of this machine.

Each port has a channel for data (2n) and one for errors (2n + 1), and each begins with the port's number.
"""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import threading
from http.server import BaseHTTPRequestHandler

from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, BytesMessage, CloseConnection, Ping, Request
from wsproto.utilities import LocalProtocolError


def forward_ports(handler: BaseHTTPRequestHandler, ports: list[int]) -> None:
    """Answer a request that asks for ports, until one side ends."""
    connection = handler.connection
    websocket = WSConnection(ConnectionType.SERVER)
    head = "".join(f"{name}: {value}\r\n" for name, value in handler.headers.items())
    websocket.receive_data(f"{handler.command} {handler.path} HTTP/1.1\r\n{head}\r\n".encode())
    (request,) = websocket.events()
    assert isinstance(request, Request)
    assert "v4.channel.k8s.io" in request.subprotocols, request.subprotocols
    lock = threading.Lock()

    def send(event: AcceptConnection | BytesMessage | CloseConnection) -> None:
        # Who has closed the connection wants nothing more.
        with lock, contextlib.suppress(OSError, LocalProtocolError):
            connection.sendall(websocket.send(event))

    send(AcceptConnection(subprotocol="v4.channel.k8s.io"))
    targets: dict[int, socket.socket] = {}
    for index, port in enumerate(ports):
        for channel in (2 * index, 2 * index + 1):
            send(BytesMessage(data=bytes([channel]) + port.to_bytes(2, "little")))
        try:
            targets[2 * index] = socket.create_connection(("127.0.0.1", port))
        except OSError as error:
            send(BytesMessage(data=bytes([2 * index + 1]) + str(error).encode()))
            send(CloseConnection(code=1000))
            return

    def back(channel: int, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while piece := target.recv(65536):
                send(BytesMessage(data=bytes([channel]) + piece))
        send(CloseConnection(code=1000))
        with lock, contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)

    threads = [threading.Thread(target=back, args=pair, daemon=True) for pair in targets.items()]
    for thread in threads:
        thread.start()
    _pass_on(connection, websocket, targets, lock)
    for target in targets.values():
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)
        target.close()


def _received(connection: socket.socket, lock: threading.Lock) -> bytes:
    """What came next. A connection with TLS is not for a thread that reads and one that writes at once."""
    if not isinstance(connection, ssl.SSLSocket):
        return connection.recv(65536)
    if not connection.pending():
        select.select([connection], [], [])
    with lock:
        return connection.recv(65536)


def _pass_on(
    connection: socket.socket, websocket: WSConnection, targets: dict[int, socket.socket], lock: threading.Lock
) -> None:
    message = b""
    while True:
        try:
            data = _received(connection, lock)
        except (OSError, ValueError):  # the other direction has closed it
            return
        websocket.receive_data(data or None)
        for event in websocket.events():
            if isinstance(event, CloseConnection):
                return
            if isinstance(event, Ping):
                continue
            assert isinstance(event, BytesMessage), event
            message += bytes(event.data)
            if event.message_finished:
                channel, rest, message = message[0], message[1:], b""
                with contextlib.suppress(OSError):
                    targets[channel].sendall(rest)
        if not data:
            return
