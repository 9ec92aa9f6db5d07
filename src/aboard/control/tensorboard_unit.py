# SPDX-License-Identifier: Apache-2.0
"""Stock TensorBoard over a folder, as a unit."""

from __future__ import annotations

import os
import sys
from datetime import timedelta
from pathlib import Path

from aboard.model.board import Board
from aboard.model.process_settings import parse_process_settings
from aboard.model.unit import UnitSpec
from aboard.model.unit_parts import Port, Resources

PORT = "http"
_KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "VIRTUAL_ENV")
_MEMORY = 8 << 30
_LATER = timedelta(minutes=5)


def tensorboard_unit(board: Board, unit: str, logs: Path, home: Path) -> UnitSpec:
    """The unit of a board. Its process gets nothing of the server's environment, which may hold secrets.

    The server ends it in time; where there is none any more, it ends a little later by itself.
    """
    settings = parse_process_settings(board.settings)
    port = Port(name=PORT)
    kept = [f"{name}={os.environ[name]}" for name in _KEPT_VARIABLES if os.environ.get(name)]
    flags = [
        f"--logdir={logs}",
        "--host=127.0.0.1",
        f"--port=$({port.variable})",
        f"--path_prefix={prefix_of(board.id)}",
    ]
    if not any(one.startswith("--reload_interval=") for one in settings.arguments):
        flags.append("--reload_interval=5")
    if not any(one.startswith("--window_title=") for one in settings.arguments):
        flags.append(f"--window_title={(board.description or board.name).replace('$(', '$ (')}")
    timeout = None if board.max_runtime is None else (board.max_runtime + _LATER).total_seconds()
    return UnitSpec(
        id=unit,
        name=f"board-{board.id[:8]}",
        command=(
            *("/usr/bin/env", "-i", *kept, f"HOME={home}", "CUDA_VISIBLE_DEVICES=", "PYTHONUNBUFFERED=1"),
            *(sys.executable, "-m", "tensorboard.main", *flags, *settings.arguments),
        ),
        ports=(port,),
        resources=Resources(memory=_MEMORY),
        timeout=timeout,
        grace=5.0,
        serves=True,
        labels={"aboard-board": board.id},
    )


def prefix_of(board_id: str) -> str:
    """The path below which the process answers: the same as in a browser, so that every address in a page is right."""
    return f"/boards/{board_id}"
