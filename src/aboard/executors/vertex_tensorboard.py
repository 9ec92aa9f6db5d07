# SPDX-License-Identifier: Apache-2.0
"""TensorBoard instances of Vertex AI, by the names that people give them."""

from __future__ import annotations

import json
import time
from typing import Any

from aboard.errors import ExecutorUnavailable
from aboard.executors.vertex_client import VertexClients, explained, vertex

_MAKE_SECONDS, _POLL_SECONDS = 300.0, 1.0


def create_tensorboard(clients: VertexClients, name: str) -> str:
    """A new instance with this display name; its resource name."""
    before = {one.name for one in _named(clients, name)}
    with explained(clients):
        made = vertex.Tensorboard(display_name=name)
        clients.tensorboards.create_tensorboard(parent=clients.parent, tensorboard=made)
    # The library asks for its operations at an address that only Google's own pages use, so the list is looked at.
    end = time.monotonic() + _MAKE_SECONDS
    while time.monotonic() < end:
        for one in _named(clients, name):
            if one.name not in before:
                return str(one.name)
        time.sleep(_POLL_SECONDS)
    raise ExecutorUnavailable(
        f"the TensorBoard {name!r} of Vertex was not there after {_MAKE_SECONDS:.0f} s", hint="try again later"
    )


def get_or_create_tensorboard(clients: VertexClients, name: str) -> str:
    """The oldest instance with this display name, made if there is none; its resource name."""
    found = _named(clients, name)
    return str(found[0].name) if found else create_tensorboard(clients, name)


def _named(clients: VertexClients, name: str) -> list[Any]:
    with explained(clients):
        request = {"parent": clients.parent, "filter": f"display_name={json.dumps(name)}"}
        found = [one for one in clients.tensorboards.list_tensorboards(request=request) if one.display_name == name]
    return sorted(found, key=lambda one: (one.create_time, one.name))
