# SPDX-License-Identifier: Apache-2.0
"""TensorBoard instances of Vertex AI, by the names that people give them."""

from __future__ import annotations

import json

from aboard.executors.vertex_client import VertexClients, explained, vertex

_MAKE_SECONDS = 300


def create_tensorboard(clients: VertexClients, name: str) -> str:
    """A new instance with this display name; its resource name."""
    with explained(clients):
        made = clients.tensorboards.create_tensorboard(
            parent=clients.parent, tensorboard=vertex.Tensorboard(display_name=name)
        )
        return str(made.result(timeout=_MAKE_SECONDS).name)


def get_or_create_tensorboard(clients: VertexClients, name: str) -> str:
    """The oldest instance with this display name, made if there is none; its resource name."""
    with explained(clients):
        request = {"parent": clients.parent, "filter": f"display_name={json.dumps(name)}"}
        found = [one for one in clients.tensorboards.list_tensorboards(request=request) if one.display_name == name]
    if found:
        return str(min(found, key=lambda one: (one.create_time, one.name)).name)
    return create_tensorboard(clients, name)
