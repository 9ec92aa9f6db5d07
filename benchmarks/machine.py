# SPDX-License-Identifier: Apache-2.0
"""Where and with what the numbers were taken."""

from __future__ import annotations

import os
import platform
import tempfile
from collections.abc import Sequence
from datetime import datetime
from importlib import metadata
from pathlib import Path

# The packages that matter to each benchmark.
WRITING = ("aboard", "tensorboardX", "torch", "tensorboard", "numpy", "pillow", "protobuf", "crc32c")
READING = ("aboard", "tensorboard", "tensorboard-data-server", "numpy", "grpcio", "protobuf", "uvicorn", "tensorflow")


def describe(folder: Path | None, packages: Sequence[str]) -> dict[str, object]:
    from aboard._native import crc32c_implementation, is_debug_build

    place = (folder or Path(tempfile.gettempdir())).resolve()
    return {
        "date": datetime.now().astimezone().isoformat(timespec="minutes"),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load before": [round(value, 2) for value in os.getloadavg()],
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in packages},
        "aboard's build": "debug" if is_debug_build else "release",
        "aboard's CRC": crc32c_implementation,
        "log folder": f"{place} ({_file_system(place)})",
    }


def warnings(machine: dict[str, object]) -> list[str]:
    """What would make the numbers unfair."""
    found: list[str] = []
    packages, load = machine["packages"], machine["load before"]
    assert isinstance(packages, dict)
    assert isinstance(load, list)
    if packages.get("crc32c") == "absent":
        found.append(
            "crc32c is absent, so tensorboardX computes checksums in Python; `pip install crc32c` to let it be fast"
        )
    if packages.get("tensorflow", "absent") != "absent":
        found.append("TensorFlow is installed, so stock TensorBoard imports it: slower to start, larger in memory")
    if machine["aboard's build"] == "debug":
        found.append("aboard is a debug build")
    if load[0] > 0.5:
        found.append(f"the machine is busy: load {load[0]}")
    return found


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "absent"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    pairs = (line.partition(":") for line in reversed(lines))
    fields = {name.strip(): value.strip() for name, _, value in pairs}
    return f"{fields.get('model name', platform.machine())}, {fields.get('cpu MHz', '?')} MHz"


def _file_system(place: Path) -> str:
    try:
        mounts = Path("/proc/mounts").read_text(encoding="utf-8").splitlines()
    except OSError:
        return "unknown"
    points = {mount.split()[1]: mount.split()[2] for mount in mounts}
    for parent in (place, *place.parents):
        if str(parent) in points:
            return points[str(parent)]
    return "unknown"
