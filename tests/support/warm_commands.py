# SPDX-License-Identifier: Apache-2.0
"""Imports and makes what commands begin with, in the process of which commands in tests are forks."""

from __future__ import annotations

import gc
from importlib import import_module

from aboard.cli import command

MODULES = (
    "aboard.board.hosting",
    "aboard.cli.output",
    "aboard.cli.run",
    "aboard.cli.server",
    "aboard.cli.server.maintenance",
    "aboard.cli.server.options",
    "aboard.cli.server.serving",
    "aboard.cli.sync",
    "aboard.cli.view.reports",
    "aboard.cli.view.runs",
    "aboard.cli.view.serving",
    "aboard.reader.mirror.store_mirror",
    "aboard.server.auth.shared_token",
    "aboard.server.folder_app",
    "aboard.server.view",
    "aboard.server.boards.wsgi",
    "aboard.store.folder",
    "aboard.writer.summary_writer",
    "alembic.command",
    "anyio._backends._asyncio",
    "encodings.idna",
    "sqlite3",
    "uvicorn.lifespan.on",
    "uvicorn.loops.asyncio",
    "uvicorn.protocols.websockets.auto",
)

for name in MODULES:
    import_module(name)
command()
gc.collect()
gc.freeze()  # collections in the forks neither look at all this nor copy its pages
