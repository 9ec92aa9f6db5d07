# SPDX-License-Identifier: Apache-2.0
"""A real Docker daemon that goes away for a while, and whose containers live on."""

from __future__ import annotations

import time

from aboard.executors import Docker
from aboard.model.units import EndReason, Mount
from support.docker_daemon import IMAGE, docker_machine
from support.executor_benches import PATIENCE, Bench
from support.processes import until

TIME = 16.0


def test_a_unit_whose_time_ends_meanwhile_ends_when_the_daemon_is_back() -> None:
    with docker_machine(keeps_containers=True) as daemon:
        executor = Docker(address=daemon.address, pull="never")
        mounts = (Mount(source="/usr", target="/usr", read_only=True),)
        bench = Bench(executor, {"image": IMAGE, "mounts": mounts})
        handle = bench.submit("echo ready; exec sleep 600", timeout=TIME)
        begun = time.monotonic()
        bench.until_printed(handle, "ready")
        enders = executor._ender("timeouts")
        ender = enders.find(handle.unit)
        assert ender is not None
        until(lambda: (usage := enders.usage(ender)) is not None and usage.processes, PATIENCE)
        time.sleep(max(0.0, begun + TIME / 2 - time.monotonic()))
        daemon.stop()
        try:
            before = enders.usage(ender)
            time.sleep(max(0.0, begun + TIME + 3 - time.monotonic()))
            after = enders.usage(ender)
        finally:
            daemon.start()
        assert before is not None
        assert after is not None
        assert after.cpu_seconds - before.cpu_seconds < 2, "it did not wait, it asked all the time"
        status = bench.ended(handle)
        assert status.reason is EndReason.TIMEOUT, status
        bench.clear()
