# SPDX-License-Identifier: Apache-2.0
"""Ray Tune: a run for each trial, in one experiment.

Ray finds the address of its machine by the network that it is in. It gets one of its own, with loopback alone.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.processes import needs
from support.runs import Machine, finish
from support.trained_examples import EXAMPLES, SECONDS, Trained

pytestmark = pytest.mark.timeout(400)
ALONE = ("unshare", "--net", *(() if os.geteuid() == 0 else ("--map-root-user",)), "sh", "-c")
LOOPBACK = 'ip link set lo up && exec "$0" "$@"'
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled"}
# Ray gives its own processes 15 s to start, which nothing changes: on a busy machine it is asked again.
TRIES, TOO_SLOW = 3, "The current node timed out during startup"


def _no_network_of_its_own() -> str:
    if not shutil.which("unshare") or not shutil.which("ip"):
        return "unshare and ip are not installed"
    allowed = subprocess.run([*ALONE, LOOPBACK, "true"], capture_output=True).returncode == 0
    return "" if allowed else "this user may make no network namespace"


def _search(folder: Path) -> Trained:
    """The example under `aboard run`. Ray prints the trace of the trial that fails: no other trace is allowed."""
    place = 0
    while True:
        place += 1
        machine = Machine(folder / str(place) / "machine", str(folder / str(place) / "store"), dict(QUIET))
        options = ("--name", "example", "--resources-every", "0", "--no-code")
        command = (*ALONE, LOOPBACK, sys.executable, EXAMPLES / "ray_search.py")
        ended = finish(machine.start("run", *options, "--", *command), SECONDS)
        if TOO_SLOW not in ended.err or place == TRIES:
            break
    assert ended.code == 0, ended.err
    assert ended.err.count("Traceback") <= 1, ended.err
    assert "aboard: warning" not in ended.err
    return Trained(machine, ended)


@pytest.mark.framework("Ray Tune", "ray", shows="`RayTuneCallback`: a run for each trial, in one experiment")
def test_ray_tune(tmp_path: Path) -> None:
    needs(_no_network_of_its_own())
    trained = _search(tmp_path)
    assert "'x': 0.5" in trained.ended.out
    trials = {float(str(run.hparams["x"])): run for run in trained.runs().values() if run.experiment == "parabola"}
    assert {x: str(run.status) for x, run in trials.items()} == {0.0: "completed", 0.5: "completed", 2.0: "failed"}
    assert "x is out of range" in trials[2.0].reason
    for x, run in trials.items():
        board = trained.board(run.name)
        assert board.curve(".", "ray/tune/loss") == [
            (step, pytest.approx((x - 0.5) ** 2 / step)) for step in range(1, 6)
        ]
        assert board.curve(".", "ray/tune/size/hidden") == [(step, 8.0) for step in range(1, 6)]
        assert not {tag for tag in board.tags("scalars")["."] if "pid" in tag or "timestamp" in tag}
        assert (run.hparams["hidden"], set(run.tags)) == (8, {"ray.trial"})
