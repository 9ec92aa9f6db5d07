# SPDX-License-Identifier: Apache-2.0
"""A run that is killed five times, with its network cut twice; once stands in `test_run_faults.py`."""

from __future__ import annotations

from pathlib import Path

from support.fault_proxy import fault_proxy
from support.killed_runs import check_whole, killed_run
from support.object_servers import S3Server
from support.runs import Kept, Machine


def test_killed_five_times_with_the_network_cut_twice(tmp_path: Path, s3_server: S3Server) -> None:
    with fault_proxy(s3_server.port) as proxy:
        environment = {**s3_server.environment(), "AWS_ENDPOINT_URL": proxy.endpoint}
        machine = Machine(tmp_path / "one", s3_server.new_uri(), environment)
        killed_run(machine, proxy, kills=5, cut_in={2, 4})
    kept = Kept.at(machine.store, s3_server.environment())
    assert str(kept.run().status) == "completed"
    check_whole(kept, tmp_path / "back")
