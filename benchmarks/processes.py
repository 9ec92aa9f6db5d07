# SPDX-License-Identifier: Apache-2.0
"""Every measurement is a fresh process; these start them, one at a time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import readback
from peers import HIDE_TENSORFLOW, LIBRARIES

_WORKER = Path(__file__).with_name("worker.py")


def run_worker(
    kind: str, library: str, workload: str, *, quick: bool, folder: Path | None, **sizes: Any
) -> dict[str, float]:
    """One measurement with its own log folder, which is read back and removed."""
    with tempfile.TemporaryDirectory(prefix=f"bench-{library}-", dir=folder) as name:
        result_file, logdir = Path(name, "result.json"), Path(name, "logs")
        order = {"kind": kind, "library": library, "workload": workload, "quick": quick, "sizes": sizes}
        done = subprocess.run(
            [sys.executable, str(_WORKER), json.dumps(order), str(result_file), str(logdir)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise SystemExit(f"{library}, {workload}: the worker failed\n{done.stdout}{done.stderr}")
        result = json.loads(result_file.read_text(encoding="utf-8"))
        content = readback.read(logdir)
    lacks = content.lacks(int(result["points"]), int(result["calls"]))
    if lacks:
        raise SystemExit(f"{library}, {workload}: the files hold {lacks}")
    if content.image_bytes:
        result["png_bytes"] = content.image_bytes
    return result


def run_imports(library: str, *, repetitions: int, folder: Path | None) -> dict[str, float]:
    """What importing the writer, and logging a first point, costs a script above what it imports anyway."""
    chosen = LIBRARIES[library]
    host = f"{HIDE_TENSORFLOW}; import {chosen.host}"
    load = f"{host}; from {chosen.module} import SummaryWriter"
    with tempfile.TemporaryDirectory(prefix=f"bench-{library}-", dir=folder) as name:
        ready = f'{load}; w = SummaryWriter({name!r}); w.add_scalar("a", 0.5, 1); w.close()'
        _run_script(ready)  # compiles to bytecode and brings the files into memory
        rounds = [[_run_script(source) for source in (host, load, ready)] for _ in range(repetitions)]
    # The difference of two medians: one disturbed start would spoil the difference of two single starts.
    walls, cpus = (
        [median(times[script][clock] for times in rounds) * 1e3 for script in range(3)] for clock in range(2)
    )
    return {
        "host_ms": walls[0],
        "host_cpu_ms": cpus[0],
        "import_ms": walls[1] - walls[0],
        "import_cpu_ms": cpus[1] - cpus[0],
        "ready_ms": walls[2] - walls[0],
        "ready_cpu_ms": cpus[2] - cpus[0],
    }


def _run_script(source: str) -> tuple[float, float]:
    """Wall and CPU seconds of a whole interpreter."""
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", source], env=_environment())
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"failed: {source}")
    return wall, usage.ru_utime + usage.ru_stime


def _environment() -> dict[str, str]:
    """With bytecode for everybody: installed packages have it, an editable aboard might be compiled at each start."""
    variables = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return {**variables, "PYTHONPYCACHEPREFIX": _bytecode().name}


@cache
def _bytecode() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="bench-bytecode-")
