# SPDX-License-Identifier: Apache-2.0
"""Runs in a process of its own: measures one workload with one library and leaves the result as a file.

Started by `processes.py` as `worker.py '{"kind": …, "library": …, "workload": …, …}' RESULT LOGDIR`.
"""

from __future__ import annotations

import json
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

from measure import Instant, Statement, clock_overhead, percentile, resident_bytes
from peers import LIBRARIES, hide_tensorflow
from workloads import WORKLOADS, Workload

Result = dict[str, float]


def measure_calls(writer_class: Any, workload: Workload, logdir: Path) -> Result:
    """Latencies of single calls with one writer, then the whole cost of a plain loop with a second one."""
    names = workload.values()
    writer = writer_class(str(logdir / "latencies"))
    call = Statement(workload.call, {"writer": writer, **names}, between=workload.between)
    overhead = clock_overhead()
    first = call.latencies(0, 1)[0]
    call.repeat(1, workload.warm_up_calls)
    writer.flush()
    begin = workload.warm_up_calls + workload.latency_calls
    latencies = call.latencies(workload.warm_up_calls, begin)
    writer.close()

    end = begin + workload.loop_calls
    arguments = Statement(workload.arguments, names)
    writer = writer_class(str(logdir / "loop"))
    call = Statement(workload.call, {"writer": writer, **names})
    before = Instant.now()
    arguments.repeat(begin, end)
    empty = Instant.now() - before
    start = Instant.now()
    call.repeat(begin, end)
    called = Instant.now() - start - empty
    writer.flush()
    flushed = Instant.now() - start - empty
    writer.close()
    closed = Instant.now() - start - empty
    per_call = 1e6 / workload.loop_calls
    return {
        "call_us": called.wall * per_call,
        "call_cpu_us": called.thread_cpu * per_call,
        "p50_us": (percentile(latencies, 50) - overhead) / 1e3,
        "p99_us": (percentile(latencies, 99) - overhead) / 1e3,
        "first_us": (first - overhead) / 1e3,
        "flushed_us": flushed.wall * per_call,
        "closed_us": closed.wall * per_call,
        "cpu_us": closed.cpu * per_call,
        "clock_us": overhead / 1e3,
        "disk_bytes": _bytes_below(logdir) / end,
        "calls": end,
        "points": end * workload.points_per_call,
    }


def measure_pace(writer_class: Any, workload: Workload, logdir: Path, *, seconds: float) -> Result:
    """CPU time at 1000 calls a second: the pacing alone, with logging, and an open writer that is given nothing."""
    per_second, names = 1000, workload.values()
    calls = int(per_second * seconds)
    pacing = Statement(workload.arguments, names)
    writer = writer_class(str(logdir))
    call = Statement(workload.call, {"writer": writer, **names})
    call.repeat(0, workload.warm_up_calls)
    writer.flush()
    begin, end = workload.warm_up_calls, workload.warm_up_calls + calls
    start = Instant.now()
    # After a sleep caches are cold, also for the clock.
    overhead = percentile(pacing.paced(begin, end, per_second=per_second), 50)
    paced = Instant.now()
    latencies = call.paced(begin, end, per_second=per_second)
    writer.flush()
    logged = Instant.now()
    time.sleep(seconds)
    idle = Instant.now()
    writer.close()
    pacing_cpu, logging_cpu, idle_cpu = (paced - start).cpu, (logged - paced).cpu, (idle - logged).cpu
    return {
        "p50_us": (percentile(latencies, 50) - overhead) / 1e3,
        "p99_us": (percentile(latencies, 99) - overhead) / 1e3,
        "pacing_ms": pacing_cpu / seconds * 1e3,
        "paced_ms": logging_cpu / seconds * 1e3,
        "net_us": (logging_cpu - pacing_cpu) / calls * 1e6,
        "idle_ms": idle_cpu / seconds * 1e3,
        "asleep_us": overhead / 1e3,
        "disk_bytes": _bytes_below(logdir) / end,
        "calls": end,
        "points": end * workload.points_per_call,
    }


def measure_memory(writer_class: Any, workload: Workload, logdir: Path, *, calls: int) -> Result:
    """Growth of the process while it logs without pause."""
    writer = writer_class(str(logdir))
    call = Statement(workload.call, {"writer": writer, **workload.values()})
    call.repeat(0, workload.warm_up_calls)
    writer.flush()
    before, start = resident_bytes(), Instant.now()
    slices, largest = 200, 0
    end = workload.warm_up_calls + calls
    bounds = [workload.warm_up_calls + calls * index // slices for index in range(slices + 1)]
    for begin, stop in pairwise(bounds):
        call.repeat(begin, stop)
        largest = max(largest, resident_bytes())
    called = Instant.now() - start
    writer.close()
    closed = Instant.now() - start
    return {
        "call_us": called.wall / calls * 1e6,
        "closed_us": closed.wall / calls * 1e6,
        "cpu_us": closed.cpu / calls * 1e6,
        "peak_mib": (largest - before) / 2**20,
        "left_mib": (resident_bytes() - before) / 2**20,
        "disk_bytes": _bytes_below(logdir) / end,
        "calls": end,
        "points": end * workload.points_per_call,
    }


KINDS = {"calls": measure_calls, "pace": measure_pace, "memory": measure_memory}


def _bytes_below(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main() -> None:
    hide_tensorflow()
    order = json.loads(sys.argv[1])
    workload = WORKLOADS[order["workload"]]
    if order["quick"]:
        workload = workload.shrunk()
    writer_class = LIBRARIES[order["library"]].writer_class()
    result = KINDS[order["kind"]](writer_class, workload, Path(sys.argv[3]), **order["sizes"])
    Path(sys.argv[2]).write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main()
