# SPDX-License-Identifier: Apache-2.0
"""aboard: log from any framework, keep every run, open any combination of runs as a board."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aboard.version import __version__

if TYPE_CHECKING:
    from aboard.client.board import Board
    from aboard.client.board import Board as TensorBoard
    from aboard.client.client import Client
    from aboard.jobs.experiment_board import add_tensorboard
    from aboard.jobs.job import Job
    from aboard.jobs.submit import submit
    from aboard.jobs.sweep import sweep
    from aboard.reader.opened.runs import open as open  # noqa: A004 - read as aboard.open
    from aboard.run.training.run import Run
    from aboard.writer.factories import RecordWriter, register_writer_factory
    from aboard.writer.file_writer import FileWriter
    from aboard.writer.global_writer import GlobalSummaryWriter
    from aboard.writer.summary_writer import SummaryWriter

# Without `open`: a star import must not take the place of the built-in one.
__all__ = [
    "Board",
    "Client",
    "FileWriter",
    "GlobalSummaryWriter",
    "Job",
    "RecordWriter",
    "Run",
    "SummaryWriter",
    "TensorBoard",
    "__version__",
    "add_tensorboard",
    "register_writer_factory",
    "submit",
    "sweep",
]

# Importing aboard must cost a training script nothing: each name is loaded when it is first used.
_HOMES = {
    "Board": "aboard.client.board",
    "Client": "aboard.client.client",
    "FileWriter": "aboard.writer.file_writer",
    "GlobalSummaryWriter": "aboard.writer.global_writer",
    "Job": "aboard.jobs.job",
    "RecordWriter": "aboard.writer.factories",
    "Run": "aboard.run.training.run",
    "SummaryWriter": "aboard.writer.summary_writer",
    "TensorBoard": "aboard.client.board",
    "add_tensorboard": "aboard.jobs.experiment_board",
    "open": "aboard.reader.opened.runs",
    "register_writer_factory": "aboard.writer.factories",
    "submit": "aboard.jobs.submit",
    "sweep": "aboard.jobs.sweep",
}
_FOLDERS = frozenset({"executors"})  # read as aboard.executors.Slurm(…)


def __getattr__(name: str) -> object:
    import importlib

    if name in _FOLDERS:
        return importlib.import_module(f"aboard.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'aboard' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def load_ipython_extension(shell: object) -> None:
    """`%load_ext aboard` in a notebook: from then on `%aboard run343` shows a board in it."""
    from aboard.client.notebooks import register

    register(shell)


def __dir__() -> list[str]:
    return sorted({*__all__, *_HOMES})
