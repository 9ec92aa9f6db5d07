# SPDX-License-Identifier: Apache-2.0
"""The Docker daemon: a connection, its errors, the status of a container, and a process that ends one at its time.

The docker SDK has no types, so clients and containers are `Any`.
"""

from __future__ import annotations

import contextlib
import socket
import sys
import time
from collections.abc import Generator
from datetime import datetime
from typing import Any, TypeAlias, cast

import requests.exceptions

from aboard.errors import AboardError, ExecutorUnavailable, MissingPackage, UnitRefused
from aboard.model.states import UnitState
from aboard.model.times import parse_time
from aboard.model.units import EndReason, UnitStatus, state_after

try:
    import docker
    import docker.errors
    import docker.types
except ImportError as error:
    raise MissingPackage("the executor docker needs the docker SDK", hint="pip install 'aboard[docker]'") from error

DeviceRequest = docker.types.DeviceRequest
BindMount = docker.types.Mount
Client: TypeAlias = Any
Container: TypeAlias = Any


def connect(address: str, *, timeout: float = 60.0) -> Client:
    """A client of the daemon at `address`; to be closed."""
    _check_socket(address)
    return cast("Any", docker).DockerClient(base_url=address, timeout=timeout)


def _check_socket(address: str) -> None:
    """The SDK leaves a socket open for each daemon that it does not find: it is not asked when there is none."""
    if not address.startswith("unix://"):
        return
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(address.removeprefix("unix://"))
        except OSError as error:
            raise docker.errors.DockerException(error.strerror or str(error)) from error


_NEXT_STEPS = {
    "port is already allocated": "another container has that port: take another one, or none for any that is free",
    "address already in use": "another process has that port: take another one, or none for any that is free",
    "could not select device driver": "no GPU can be given to containers here: install the NVIDIA container toolkit",
    "invalid mount config": "a mount names a path that the daemon's machine does not have",
    "no such network": "`docker network ls` lists the networks",
    "permission denied": "the daemon's user may not do this",
}


FAILURES = (docker.errors.DockerException, requests.exceptions.RequestException)
"""All that the client library raises."""


@contextlib.contextmanager
def translate_errors(address: str) -> Generator[None]:
    try:
        yield
    except docker.errors.APIError as error:
        raise _refusal(error) from error
    except FAILURES as error:
        hint = "start Docker, join the group `docker`, or say where the daemon is with DOCKER_HOST or address="
        raise ExecutorUnavailable(f"no Docker daemon answers at {address}: {error}", hint=hint) from error


def _refusal(error: docker.errors.APIError) -> AboardError:
    said = str(error.explanation or error)
    if error.is_server_error() and not any(text in said for text in _NEXT_STEPS):
        return ExecutorUnavailable(f"Docker failed: {said}")
    hint = next((step for text, step in _NEXT_STEPS.items() if text in said), "")
    return UnitRefused(f"Docker refused: {said}", hint=hint)


def pull_refusal(image: str, error: docker.errors.APIError) -> AboardError:
    """For an image that is not here and cannot be fetched."""
    said = str(error.explanation or error)
    if "denied" in said or "unauthorized" in said or "authentication" in said:
        hint = "look for a typing error; for a private image run `docker login` on the daemon's machine"
    elif "not found" in said or "manifest unknown" in said:
        hint = "look for a typing error in the name or the tag"
    else:
        hint = f"the registry cannot be reached from the daemon: `docker pull {image}` there, or build the image there"
    return UnitRefused(f"the image {image!r} is not here and cannot be pulled: {said}", hint=hint)


_LIVE_STATES = {"running": UnitState.RUNNING, "paused": UnitState.RUNNING, "restarting": UnitState.STARTING}
_STARTER = "[FATAL tini"
_NEVER = "0001-01-01"


def container_status(container: Container) -> UnitStatus:
    """The status of a unit whose container this is; why it was ended stands in its name."""
    state: dict[str, Any] = container.attrs["State"]
    word = str(container.name).partition(".")[2]
    attempt = 1 + int(container.attrs.get("RestartCount", 0))
    started, ended = _parse_moment(state["StartedAt"]), _parse_moment(state["FinishedAt"])
    if container.status == "created":
        if state["Error"]:
            message = str(state["Error"])
            reason = EndReason.NOT_STARTED
            return UnitStatus(state=state_after(reason), reason=reason, message=message, exit_code=state["ExitCode"])
        return UnitStatus(state=UnitState.STARTING)
    if container.status in _LIVE_STATES:
        now = UnitState.STOPPING if word else _LIVE_STATES[container.status]
        return UnitStatus(state=now, started=started, attempt=attempt)
    code = int(state["ExitCode"])
    reason, message = _end(container, word, code, killed_for_memory=bool(state["OOMKilled"]))
    if started is not None and ended is not None:
        started = min(started, ended)  # the daemon notes a start after it, so a short unit may have ended before
    return UnitStatus(
        state=state_after(reason),
        reason=reason,
        message=message,
        exit_code=code,
        started=started,
        ended=ended,
        attempt=attempt,
    )


def _end(container: Container, word: str, code: int, *, killed_for_memory: bool) -> tuple[EndReason, str]:
    if word == "timeout":
        return EndReason.TIMEOUT, f"its time of {container.labels.get('aboard.timeout', '?')} s was over"
    if word == "stopped":
        return EndReason.STOPPED, ""
    if killed_for_memory:
        return EndReason.OUT_OF_MEMORY, "it took more memory than it may"
    if code == 0:
        return EndReason.COMPLETED, ""
    if code in {126, 127} and (said := _complaint(container)):
        return EndReason.NOT_STARTED, said
    return EndReason.EXITED, f"exit code {code}"


def _complaint(container: Container) -> str:
    """What the first process of a container, which starts the command, says when it cannot; empty if it could."""
    last: bytes = container.logs(tail=1)
    text = last.decode(errors="replace").strip()
    return text.partition("] ")[2] if text.startswith(_STARTER) else ""


def _parse_moment(text: str) -> datetime | None:
    # Nanoseconds are more than a moment holds.
    head, dot, rest = text.partition(".")
    digits = rest.rstrip("Z")[:6]
    return None if text.startswith(_NEVER) else parse_time(f"{head}{dot}{digits}Z" if dot else text)


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
