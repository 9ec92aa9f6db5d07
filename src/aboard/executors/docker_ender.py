# SPDX-License-Identifier: Apache-2.0
"""Ends a container at its time: a process of its own, a local unit, so that it does this also when aboard is gone.

`python -m aboard.executors.docker_ender ADDRESS CONTAINER AFTER GRACE WORD`. WORD (stopped, timeout) becomes part of
the container's name: there the daemon itself keeps why it ended.
"""

from __future__ import annotations

import contextlib
import sys
import time

import requests.exceptions

from aboard.executors.docker_daemon import Container, connect, docker

_LOOK_SECONDS = 60.0
_RESTART_SECONDS = 0.5
_AWAY_SECONDS = 2.0
LIVE = frozenset({"running", "paused", "restarting"})


def end_container(address: str, container: str, after: float, grace: float, word: str) -> None:
    """Wait `after` seconds; if the container still runs then, ask it to end, and kill it after the grace.

    A daemon that is away may come back with its containers: it is waited for.
    """
    deadline = time.monotonic() + after
    while True:
        try:
            with contextlib.closing(connect(address, timeout=grace + 60)) as client:
                _end_at(deadline, client.containers.get(container), grace, word)
        except docker.errors.NotFound:
            return
        except (docker.errors.DockerException, requests.exceptions.RequestException):
            time.sleep(_AWAY_SECONDS)
        else:
            return


def _end_at(deadline: float, container: Container, grace: float, word: str) -> None:
    while (left := deadline - time.monotonic()) > 0:
        # Waking now and then: a container that has ended needs no ender.
        with contextlib.suppress(requests.exceptions.RequestException):
            container.wait(timeout=min(left, _LOOK_SECONDS))
        container.reload()
        if container.status not in LIVE:
            return
        time.sleep(max(0.0, min(deadline - time.monotonic(), _RESTART_SECONDS)))  # it may be about to start again
    mark_container(container, word)
    container.stop(timeout=round(grace))


def mark_container(container: Container, word: str) -> None:
    """Write down why it is going to end; the first reason stays."""
    container.reload()
    if container.status in LIVE and "." not in str(container.name):
        with contextlib.suppress(docker.errors.APIError):
            container.rename(f"{container.name}.{word}")


if __name__ == "__main__":
    end_container(sys.argv[1], sys.argv[2], float(sys.argv[3]), float(sys.argv[4]), sys.argv[5])
