# SPDX-License-Identifier: Apache-2.0
"""A unit test that starts a process or opens a socket fails, and reads where it belongs."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
from collections.abc import Callable

import pytest

from support.process_guard import GUARD


def start_process() -> None:
    subprocess.run(["true"], check=True)


def listen() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))


def connect() -> None:
    with socket.socket() as client:
        client.connect(("127.0.0.1", 9))


CALLS: list[Callable[[], object]] = [start_process, os.fork, listen, connect]


@pytest.mark.parametrize("call", CALLS)
def test_what_a_unit_test_may_not_do_fails_it(call: Callable[[], object]) -> None:
    with pytest.raises(pytest.fail.Exception, match="or move the test to tests/integration"), GUARD.active():
        call()


@pytest.mark.parametrize("call", CALLS)
def test_code_that_swallows_the_refusal_fails_too(call: Callable[[], object]) -> None:
    with pytest.raises(pytest.fail.Exception), GUARD.active(), contextlib.suppress(RuntimeError):
        call()


def test_other_errors_stay_what_they_are() -> None:
    with pytest.raises(ZeroDivisionError), GUARD.active():
        _ = 1 // 0
