# SPDX-License-Identifier: Apache-2.0
"""`aboard run` as the process to which orphans come, as in a container, where it is process 1."""

from __future__ import annotations

import sys
from pathlib import Path

from support.processes import finish, needs, start

ADOPT = """
    import ctypes, os, sys
    # Asked for before exec and kept across it; process 1 needs no asking.
    assert ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) == 0
"""
# Leaves five orphans, each of which ends at once, some in a session of their own.
TRAINING = """
import os, sys, time
import psutil
supervisor = psutil.Process(os.getppid())
for number in range(5):
    middle = os.fork()
    if not middle:
        if number % 2:
            os.setsid()
        if not os.fork():
            while os.getppid() != supervisor.pid:
                time.sleep(0.01)
        os._exit(0)
    os.waitpid(middle, 0)
def zombies():
    return [one.pid for one in supervisor.children() if one.status() == psutil.STATUS_ZOMBIE]
end = time.monotonic() + 60
while len(supervisor.children()) > 1:
    assert time.monotonic() < end, f"zombies: {zombies()}"
    time.sleep(0.02)
sys.exit(7)
"""


def test_orphans_are_reaped_and_the_exit_code_is_that_of_the_command(tmp_path: Path) -> None:
    needs("" if sys.platform == "linux" else "only Linux has subreapers")
    script = (
        ADOPT
        + """
    os.environ |= {"ABOARD_HOME": sys.argv[1] + "/home", "ABOARD_STORE": sys.argv[1] + "/store"}
    command = [sys.executable, "-m", "aboard", "run", "--no-code", "--", sys.executable, "-c", sys.argv[2]]
    os.execv(sys.executable, command)
    """
    )
    ended = finish(start(tmp_path, script, tmp_path, TRAINING), 120)
    assert ended.code == 7, ended.err


def test_children_of_its_own_keep_their_exit_codes(tmp_path: Path) -> None:
    """Each child is a zombie for a while before somebody waits for it, as when a thread is slow."""
    needs("" if sys.platform == "linux" else "only Linux has subreapers")
    script = (
        ADOPT
        + """
    import subprocess, time
    import psutil
    from aboard.run.supervisor import command as supervised
    supervised._REAP_SECONDS = 0.0
    reaper = supervised.OrphanReaper()
    own = [subprocess.Popen(["sh", "-c", f"exit {code}"]) for code in range(1, 6)]
    command = subprocess.Popen(["sh", "-c", "(exit 0 & exit 0) & exit 9"], start_new_session=True)
    def is_over(process):
        return psutil.Process(process.pid).status() == psutil.STATUS_ZOMBIE
    end = time.monotonic() + 60
    while not all(map(is_over, [*own, command])) or len(psutil.Process().children()) > 6:
        assert time.monotonic() < end
        reaper.reap(command.pid)
        time.sleep(0.01)
    reaper.reap(command.pid)
    assert [one.wait() for one in [*own, command]] == [1, 2, 3, 4, 5, 9]
    """
    )
    ended = finish(start(tmp_path, script), 120)
    assert ended.code == 0, ended.err
