# SPDX-License-Identifier: Apache-2.0
"""Use of NVIDIA GPUs, as nvidia-smi tells it, where there is one."""

from __future__ import annotations

import csv
import shutil
import subprocess

_FIELDS = {
    "utilization.gpu": "utilization_percent",
    "memory.used": "memory_used_mib",
    "memory.total": "memory_total_mib",
    "temperature.gpu": "temperature_celsius",
    "power.draw": "power_watts",
}
_SECONDS = 10


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
                [self._program, *query], capture_output=True, timeout=_SECONDS, stdin=subprocess.DEVNULL, check=True
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
