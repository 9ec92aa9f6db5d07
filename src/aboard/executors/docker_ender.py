# SPDX-License-Identifier: Apache-2.0
"""Ends a container at its time: a process of its own, a local unit, so that it does this also when aboard is gone.

`python -m aboard.executors.docker_ender ADDRESS CONTAINER AFTER GRACE WORD`. WORD (stopped, timeout) becomes part of
the container's name: there the daemon itself keeps why it ended.
"""

from __future__ import annotations

import contextlib
import sys
import time

import docker.errors
import requests.exceptions

from aboard.executors.docker_client import Container, connect

_LOOK_SECONDS = 60.0


def end_container(address: str, container: str, after: float, grace: float, word: str) -> None:
    """Wait `after` seconds; if the container still runs then, ask it to end, and kill it after the grace."""
    deadline = time.monotonic() + after
    client = connect(address, timeout=grace + 60)
    try:
        found = client.containers.get(container)
        while (left := deadline - time.monotonic()) > 0:
            # Waking now and then: a container that has ended needs no ender.
            with contextlib.suppress(requests.exceptions.RequestException):
                found.wait(timeout=min(left, _LOOK_SECONDS))
                return
        mark_container(found, word)
        found.stop(timeout=round(grace))
    except docker.errors.NotFound:
        return
    finally:
        client.close()


def mark_container(container: Container, word: str) -> None:
    """Write down why it is going to end; the first reason stays."""
    container.reload()
    if container.status == "running" and "." not in str(container.name):
        with contextlib.suppress(docker.errors.APIError):
            container.rename(f"{container.name}.{word}")


if __name__ == "__main__":
    end_container(sys.argv[1], sys.argv[2], float(sys.argv[3]), float(sys.argv[4]), sys.argv[5])
