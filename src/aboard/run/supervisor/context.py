# SPDX-License-Identifier: Apache-2.0
"""What a run was started with (code, Python, packages, machine) and what it uses (processor, memory, GPUs)."""

from __future__ import annotations

import csv
import json
import logging
import os
import platform
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import TYPE_CHECKING, cast

import psutil

from aboard.run.supervisor.command import ProcessTree
from aboard.run.supervisor.summary import SYSTEM

if TYPE_CHECKING:
    from aboard.writer.summary_writer import SummaryWriter


DIFF_BYTES = 1 << 20
_GIT_SECONDS = 10
# Files that hold secrets and little else; what is masked elsewhere is masked by name.
_WITHOUT = (".env*", "*.env", "*.pem", "*.key", ".netrc")


@dataclass(frozen=True)
class CodeState:
    details: dict[str, object] = field(default_factory=dict[str, object])
    diff: bytes = b""
    """Against the commit, without untracked files and files of secrets; cut off when it is very long."""


def code_state(folder: Path) -> CodeState | None:
    """The state of the repository around a folder; None where there is none, or no git."""
    commit = _git(folder, "rev-parse", "HEAD")
    root = _git(folder, "rev-parse", "--show-toplevel")
    if root is None:
        return None
    changes = _git(folder, "status", "--porcelain", "--untracked-files=normal") or b""
    details: dict[str, object] = {
        "root": _text(root),
        "commit": _text(commit),
        "branch": _text(_git(folder, "symbolic-ref", "--short", "-q", "HEAD")),
        "remote": _text(_git(folder, "config", "--get", "remote.origin.url")),
        "is_changed": bool(changes.strip()),
        "untracked": [line[3:].decode("utf-8", "replace") for line in changes.splitlines() if line.startswith(b"??")][
            :100
        ],
    }
    without = [f":(top,exclude,icase,glob)**/{pattern}" for pattern in _WITHOUT]
    changed = _git(folder, "diff", "--no-color", "--no-ext-diff", "HEAD", "--", ":(top)", *without) if commit else None
    diff = changed or b""
    if len(diff) > DIFF_BYTES:
        details["diff_left_out"] = len(diff) - DIFF_BYTES
        diff = diff[:DIFF_BYTES] + b"\n[aboard: the rest was left out]\n"
    return CodeState({name: value for name, value in details.items() if value not in ("", [])}, diff)


def _git(folder: Path, *arguments: str) -> bytes | None:
    # Locks are left alone: a person may be working in the same repository.
    command = ["git", "--no-optional-locks", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_GIT_SECONDS, stdin=subprocess.DEVNULL, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def _text(output: bytes | None) -> str:
    return (output or b"").decode("utf-8", "replace").strip()


_PYTHON_SECONDS = 20
_ASK = """
import json, platform, sys
from importlib.metadata import distributions
found = {}
for one in distributions():
    head = (one.read_text("METADATA") or one.read_text("PKG-INFO") or "").partition("\\n\\n")[0].splitlines()
    name = next((line[6:].strip() for line in head if line.startswith("Name: ")), "")
    version = next((line[9:].strip() for line in head if line.startswith("Version: ")), "")
    if name:
        found.setdefault(name, version)
print(json.dumps({"version": platform.python_version(), "implementation": platform.python_implementation(),
                  "executable": sys.executable,
                  "packages": {name: found[name] for name in sorted(found, key=str.lower)}}))
"""


def python_state(command: Sequence[str], environ: Mapping[str, str]) -> dict[str, object]:
    """Version, place and packages of the Python that the command uses; empty when it uses none that is found."""
    python = interpreter_of(command, environ)
    if python is None:
        return {}
    if _is_this_one(python):
        return _own_state()
    try:
        done = subprocess.run(
            [python, "-c", _ASK],
            env=dict(environ),
            capture_output=True,
            timeout=_PYTHON_SECONDS,
            stdin=subprocess.DEVNULL,
            check=True,
        )
        return cast("dict[str, object]", json.loads(done.stdout))
    except (OSError, subprocess.SubprocessError, ValueError):
        return {}


def _is_this_one(python: str) -> bool:
    """Whether it is the Python of this process: the same file in the same folder, which tells environments apart."""
    other, own = Path(python).absolute(), Path(sys.executable).absolute()
    return other.parent == own.parent and other.resolve() == own.resolve()


def _own_state() -> dict[str, object]:
    """What `_ASK` would print, without the start of another process."""
    packages: dict[str, str] = {}
    for one in distributions():
        name, version = _name_and_version(one)
        if name:
            packages.setdefault(name, version)
    return {
        "version": platform.python_version(),
        "implementation": platform.python_implementation(),
        "executable": sys.executable,
        "packages": {name: packages[name] for name in sorted(packages, key=str.lower)},
    }


def _name_and_version(package: Distribution) -> tuple[str, str]:
    """From the first lines of the metadata: `Distribution.metadata` parses all of it, which takes ten times as long."""
    head = (package.read_text("METADATA") or package.read_text("PKG-INFO") or "").partition("\n\n")[0].splitlines()
    name = next((line[6:].strip() for line in head if line.startswith("Name: ")), "")
    version = next((line[9:].strip() for line in head if line.startswith("Version: ")), "")
    return name, version


def interpreter_of(command: Sequence[str], environ: Mapping[str, str]) -> str | None:
    """The Python of a command: itself, that of its first line, or the first one on the path."""
    path = environ.get("PATH", os.defpath)
    program = shutil.which(command[0], path=path)
    if program and _is_python(program):
        return program
    named = _from_first_line(Path(program)) if program else None
    if named:
        return named
    for part in command[1:]:  # such as `env A=1 python train.py` or `nice python train.py`
        found = shutil.which(part, path=path) if _is_python(part) else None
        if found:
            return found
    return shutil.which("python", path=path) or shutil.which("python3", path=path) or sys.executable


def _is_python(program: str) -> bool:
    name = Path(program).name
    return name == "python" or (name.startswith("python") and name.removeprefix("python").replace(".", "").isdecimal())


def _from_first_line(program: Path) -> str | None:
    """What stands behind `#!` in a script such as torchrun."""
    try:
        with program.open("rb") as file:
            line = file.readline(500)
    except OSError:
        return None
    if not line.startswith(b"#!"):
        return None
    parts = line[2:].decode("utf-8", "replace").split()
    return parts[0] if parts and _is_python(parts[0]) else None


def host_name() -> str:
    return socket.gethostname()


def host_state() -> dict[str, object]:
    """What may matter for a result: system, processors, memory."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "system": platform.platform(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "usable_cpus": usable,
        "memory_bytes": psutil.virtual_memory().total,
    }


_FIELDS = {
    "utilization.gpu": "utilization_percent",
    "memory.used": "memory_used_mib",
    "memory.total": "memory_total_mib",
    "temperature.gpu": "temperature_celsius",
    "power.draw": "power_watts",
}
_GPU_SECONDS = 10


class Gpus:
    """Asks for all GPUs at once; stops asking after three failures in a row."""

    def __init__(self) -> None:
        self._program = shutil.which("nvidia-smi")
        self._failures = 0

    def sample(self) -> dict[str, float]:
        """Values such as `gpu0/utilization_percent`; those that a GPU does not tell are left out."""
        if self._program is None or self._failures >= 3:
            return {}
        query = [f"--query-gpu=index,{','.join(_FIELDS)}", "--format=csv,noheader,nounits"]
        try:
            done = subprocess.run(
                [self._program, *query], capture_output=True, timeout=_GPU_SECONDS, stdin=subprocess.DEVNULL, check=True
            )
        except (OSError, subprocess.SubprocessError):
            self._failures += 1
            return {}
        self._failures = 0
        return parse_gpus(done.stdout.decode("utf-8", "replace"))


def parse_gpus(text: str) -> dict[str, float]:
    """The values in lines of `index, utilization, …`."""
    found: dict[str, float] = {}
    for row in csv.reader(text.splitlines(), skipinitialspace=True):
        for name, value in zip(_FIELDS.values(), row[1:], strict=False):
            try:
                found[f"gpu{int(row[0])}/{name}"] = float(value)
            except ValueError:
                continue  # [N/A], [Not Supported]
    return found


_log = logging.getLogger("aboard.run")
_MB = 1e6


class ResourceUse:
    """Samples in the background. The x axis is seconds since the run was made, so that attempts follow each other."""

    def __init__(self, tensorboard: Path, tree: ProcessTree, *, begun: float, interval: float) -> None:
        self._folder = tensorboard / SYSTEM
        self._tree = tree
        self._begun = begun
        self._interval = interval
        self._gpus = Gpus()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="aboard-resources", daemon=True)
        self._before: tuple[float, dict[str, float]] | None = None

    def start(self) -> None:
        """Begin to sample, at once."""
        if self._interval > 0:
            self._thread.start()

    def stop(self) -> None:
        """Stop, after a last sample."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(15)

    def _run(self) -> None:
        from aboard.writer.summary_writer import SummaryWriter  # here: the command need not wait for it

        psutil.cpu_percent()  # the first answer means nothing
        self._sample_processes()
        writer = SummaryWriter(self._folder)
        try:
            self._stop.wait(min(1.0, self._interval))
            while True:
                self._write(writer)
                if self._stop.wait(self._interval):
                    break
        except Exception:
            _log.exception("The use of the machine is no longer measured because of a mistake in aboard.")
        finally:
            writer.close()

    def _write(self, writer: SummaryWriter) -> None:
        moment = time.time()
        step = max(0, int(moment - self._begun))
        for name, value in {**_machine(), **self._sample_processes(), **self._rates(), **self._gpus.sample()}.items():
            writer.add_scalar(name, value, step, moment)

    def _sample_processes(self) -> dict[str, float]:
        processor, memory, count = 0.0, 0, 0
        for process in self._tree.look():
            try:
                with process.oneshot():
                    processor += process.cpu_percent()
                    memory += process.memory_info().rss
                count += 1
            except psutil.Error:
                continue
        return {
            "process/cpu_percent": processor,
            "process/memory_mb": memory / _MB,
            "process/processes": float(count),
        }

    def _rates(self) -> dict[str, float]:
        now, counters = time.monotonic(), _counters()
        before, self._before = self._before, (now, counters)
        if before is None or now <= before[0]:
            return {}
        seconds = now - before[0]
        return {
            name: max(0.0, value - before[1][name]) / seconds / _MB
            for name, value in counters.items()
            if name in before[1]
        }


def _machine() -> dict[str, float]:
    memory = psutil.virtual_memory()
    return {
        "machine/cpu_percent": psutil.cpu_percent(),
        "machine/memory_percent": memory.percent,
        "machine/memory_used_mb": memory.used / _MB,
    }


def _counters() -> dict[str, float]:
    """Bytes since the machine was started; what a container does not show is left out."""
    found: dict[str, float] = {}
    try:
        if network := psutil.net_io_counters():
            found |= {"machine/received_mb_per_s": network.bytes_recv, "machine/sent_mb_per_s": network.bytes_sent}
        if disk := psutil.disk_io_counters():
            found |= {"machine/disk_read_mb_per_s": disk.read_bytes, "machine/disk_written_mb_per_s": disk.write_bytes}
    except (OSError, RuntimeError, psutil.Error):
        pass
    return found
