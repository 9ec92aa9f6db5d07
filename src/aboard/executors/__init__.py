# SPDX-License-Identifier: Apache-2.0
"""Executors start, watch and stop units: `executor.py` is the contract, one file for each kind, loaded when named."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aboard.executors.docker import Docker
    from aboard.executors.executor import Executor
    from aboard.executors.kubernetes.executor import Kubernetes
    from aboard.executors.local import Local
    from aboard.executors.registry import executor_names, executor_of, make_executor
    from aboard.executors.slurm import Slurm
    from aboard.executors.ssh import Ssh
    from aboard.executors.vertex import Vertex

__all__ = [
    "Docker",
    "Executor",
    "Kubernetes",
    "Local",
    "Slurm",
    "Ssh",
    "Vertex",
    "executor_names",
    "executor_of",
    "make_executor",
]

_HOMES = {
    "Docker": "aboard.executors.docker",
    "Executor": "aboard.executors.executor",
    "Kubernetes": "aboard.executors.kubernetes.executor",
    "Local": "aboard.executors.local",
    "Slurm": "aboard.executors.slurm",
    "Ssh": "aboard.executors.ssh",
    "Vertex": "aboard.executors.vertex",
    "executor_names": "aboard.executors.registry",
    "executor_of": "aboard.executors.registry",
    "make_executor": "aboard.executors.registry",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'aboard.executors' has no attribute {name!r}")
    import importlib

    from aboard.errors import MissingPackage

    try:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    except MissingPackage as error:
        # What happened inside of the import tells a person nothing: the message says what to install.
        raise error.with_traceback(None) from None
    globals()[name] = value
    return value
