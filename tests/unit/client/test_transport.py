# SPDX-License-Identifier: Apache-2.0
"""Which requests are sent again: reads after a failure, changes only when nothing listened."""

from __future__ import annotations

import io
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest

from aboard.client.transport import Address, Transport
from aboard.errors import ServerUnavailable

ADDRESS, OTHER = Address("http://127.0.0.1:1"), Address("http://127.0.0.1:2")


class Network:
    """Raises the given failures, then answers. Stands in for the opener of urllib."""

    def __init__(self, *failures: OSError) -> None:
        self._failures = list(failures)
        self.requests: list[tuple[str, str]] = []

    def open(self, request: urllib.request.Request, **_: Any) -> io.BytesIO:
        self.requests.append((request.get_method(), request.host))
        if self._failures:
            raise urllib.error.URLError(self._failures.pop(0))
        return io.BytesIO(b'"done"')


Connect = Callable[[Network], Transport]


@pytest.fixture
def transport(monkeypatch: pytest.MonkeyPatch) -> Connect:
    monkeypatch.setattr("time.sleep", Mock())

    def make(network: Network) -> Transport:
        monkeypatch.setattr(urllib.request, "build_opener", Mock(return_value=network))
        return Transport(ADDRESS, renew=lambda: OTHER)

    return make


def test_a_read_is_repeated_after_a_broken_connection(transport: Connect) -> None:
    network = Network(ConnectionResetError(), TimeoutError())
    assert transport(network).get(str, "runs") == "done"
    assert network.requests == [("GET", "127.0.0.1:1")] * 3


def test_a_read_is_given_up_after_three_failures(transport: Connect) -> None:
    network = Network(*[ConnectionResetError() for _ in range(9)])
    with pytest.raises(ServerUnavailable):
        transport(network).get(str, "runs")
    assert len(network.requests) == 3


@pytest.mark.parametrize("failure", [ConnectionResetError(), BrokenPipeError(), TimeoutError()], ids=repr)
def test_a_change_whose_answer_was_lost_is_sent_once(transport: Connect, failure: OSError) -> None:
    network = Network(failure)
    with pytest.raises(ServerUnavailable):
        transport(network).send(str, "POST", "boards")
    assert network.requests == [("POST", "127.0.0.1:1")]


def test_a_change_that_nobody_received_goes_to_the_next_server(transport: Connect) -> None:
    network = Network(ConnectionRefusedError())
    assert transport(network).send(str, "POST", "boards") == "done"
    assert network.requests == [("POST", "127.0.0.1:1"), ("POST", "127.0.0.1:2")]
