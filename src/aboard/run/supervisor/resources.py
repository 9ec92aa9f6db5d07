# SPDX-License-Identifier: Apache-2.0
"""CPU, memory, disk, network and GPU use over time, as series in the logdir `system` of the run."""

from __future__ import annotations

import csv
import logging
import shutil
import subprocess
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from aboard.run.supervisor.command import ProcessTree
from aboard.run.supervisor.summary import SYSTEM

if TYPE_CHECKING:
    from aboard.writer.summary_writer import SummaryWriter


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
