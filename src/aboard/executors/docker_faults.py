# SPDX-License-Identifier: Apache-2.0
"""What a Docker daemon says when it refuses or is not there, as errors with a next step."""

from __future__ import annotations

import contextlib
from collections.abc import Generator

import requests.exceptions

from aboard.errors import AboardError, ExecutorUnavailable, UnitRefused
from aboard.executors.docker_client import docker

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
def explained(address: str) -> Generator[None]:
    """Errors of the client library become aboard's own."""
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
