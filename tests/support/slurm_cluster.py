# SPDX-License-Identifier: Apache-2.0
"""A real Slurm of the tests' own: munge, controller and one node, on loopback; partitions low and high.

The node has two GPUs of type t4 as far as Slurm can tell: /dev/null in their place.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Generator
from pathlib import Path

from aboard.model.units import UnitHandle
from support.processes import needs, until
from support.slurm_accounts import accounts_conf, start_accounts, why_no_accounts
from support.what_was_real import first_line, stood_on

_SHORT_MEMORY = 3  # seconds
_CONF = """
ClusterName=aboardtest
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={node}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket,cred_expire=5
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
EnforcePartLimits=ALL
MpiDefault=none
SwitchType=switch/none
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
KillWait=5
MinJobAge={remembers}
SlurmdTimeout=10
SchedulerParameters=sched_interval=2,batch_sched_delay=0,sched_min_interval=0
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
JobRequeue=1
SlurmdParameters=config_overrides
GresTypes=gpu
NodeName=localhost NodeAddr=127.0.0.1 CPUs=8 RealMemory=4000 Feature=fast Gres=gpu:t4:2
PartitionName=low Nodes=localhost Default=YES MaxTime=60 State=UP PriorityTier=1 PreemptMode=REQUEUE
PartitionName=high Nodes=localhost MaxTime=60 State=UP PriorityTier=10 PreemptMode=OFF
"""


def why_no_slurm() -> str:
    if os.geteuid() != 0:
        return "Slurm wants root"
    for program in ("/usr/sbin/munged", "/usr/sbin/slurmctld", "/usr/sbin/slurmd"):
        if not Path(program).exists():
            return f"there is no {program} (Debian: slurm-wlm munge)"
    return ""


class SlurmCluster:
    """A running cluster of one node."""

    def __init__(self, folder: Path, *, keeps_accounts: bool, more: str) -> None:
        self.folder = folder
        self.conf = folder / "slurm.conf"
        for name in ("munge", "state", "spool"):
            (folder / name).mkdir()
        remembers = _SHORT_MEMORY if keeps_accounts else 300
        conf = _CONF.format(folder=folder, controller=16817, node=16818, remembers=remembers).lstrip()
        self.conf.write_text(conf + (accounts_conf(folder) if keeps_accounts else "") + more)
        for device in ("nvidia0", "nvidia1"):
            (folder / device).symlink_to("/dev/null")  # any device will do
        (folder / "gres.conf").write_text(f"NodeName=localhost Name=gpu Type=t4 File={folder}/nvidia[0-1]\n")
        self._start_munge()
        self._accounts = start_accounts(folder) if keeps_accounts else []
        if keeps_accounts:
            until(lambda: "aboardtest" in self._registered())
        self.start_controller()
        self.node = self._started("slurmd", "-D", "-f", self.conf, "-N", "localhost")
        until(lambda: "idle" in self.tell("sinfo", "--noheader", "--format=%t"))

    def start_controller(self) -> None:
        self.controller = self._started("slurmctld", "-D", "-f", self.conf)
        until(lambda: "UP" in self.tell("scontrol", "ping"))

    def tell(self, *command: str) -> str:
        environ = {**os.environ, "SLURM_CONF": str(self.conf)}
        return subprocess.run(command, capture_output=True, text=True, env=environ, timeout=60).stdout

    def _registered(self) -> str:
        self.tell("sacctmgr", "--immediate", "add", "cluster", "aboardtest")
        return self.tell("sacctmgr", "--noheader", "list", "cluster", "format=cluster%20")

    def kill_node(self) -> None:
        """As when the machine loses its power: the daemon and all processes of jobs."""
        self.node.kill()
        self.node.wait()
        for pid in _stepd_trees():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)

    def kill_job(self, handle: UnitHandle) -> None:
        """All processes of a job on its node, as its kernel does: `scancel --signal=KILL` would cancel it."""
        import psutil

        keeper = psutil.Process(json.loads((Path(handle.place["folder"]) / "state.json").read_text())["keeper"])
        for process in (keeper, *keeper.children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()

    def start_node(self) -> None:
        self.node = self._started("slurmd", "-D", "-f", self.conf, "-N", "localhost")
        until(lambda: self.tell("sinfo", "--noheader", "--format=%t").strip() in {"idle", "mix", "alloc"})

    def close(self) -> None:
        self.tell("scancel", "--user=root")
        for process in (self.node, self.controller, *self._accounts):
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:  # it waits for steps that do not end
                process.kill()
                process.wait()
        with contextlib.suppress(ProcessLookupError):
            os.kill(int((self.folder / "munge" / "pid").read_text()), signal.SIGTERM)

    def _start_munge(self) -> None:
        place = self.folder / "munge"
        key = place / "key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        for path in (place, key):
            shutil.chown(path, "munge", "munge")
        options = [f"--{name}-file={place}/{name}" for name in ("key", "pid", "log", "seed")]
        command = ["runuser", "-u", "munge", "--", "munged", "--force", f"--socket={place}/socket", *options]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def _started(self, program: str, *arguments: object) -> subprocess.Popen[bytes]:
        environ = {**os.environ, "SLURM_CONF": str(self.conf)}
        with (self.folder / f"{program}.out").open("ab") as out:
            return subprocess.Popen(
                [f"/usr/sbin/{program}", *map(str, arguments)], stdout=out, stderr=out, env=environ, cwd="/"
            )


@contextlib.contextmanager
def slurm_cluster(*, keeps_accounts: bool = False, more: str = "") -> Generator[SlurmCluster]:
    """A cluster for a while; SLURM_CONF leads to it. With accounts its controller forgets jobs after seconds.

    `more` is the end of its slurm.conf.
    """
    needs(why_no_slurm() or (why_no_accounts() if keeps_accounts else ""))
    folder = Path(tempfile.mkdtemp(prefix="aboard-slurm-", dir="/tmp"))
    folder.chmod(0o755)
    earlier = os.environ.get("SLURM_CONF")
    cluster = None
    try:
        cluster = SlurmCluster(folder, keeps_accounts=keeps_accounts, more=more)
        os.environ["SLURM_CONF"] = str(cluster.conf)
        parts = "slurmctld, slurmd, munged" + (", slurmdbd" if keeps_accounts else "")
        stood_on("slurm", f"real: {first_line('sinfo', '--version')} ({parts}) with one node")
        yield cluster
    finally:
        if cluster is not None:
            cluster.close()
        if earlier is None:
            os.environ.pop("SLURM_CONF", None)
        else:
            os.environ["SLURM_CONF"] = earlier
        shutil.rmtree(folder, ignore_errors=True)


def slurm_number(handle: UnitHandle) -> str:
    """The number under which Slurm has a unit."""
    return json.loads((Path(handle.place["folder"]) / "job.json").read_text())["job"]


def _stepd_trees() -> list[int]:
    import psutil

    found: list[int] = []
    for process in psutil.process_iter(["name"]):
        if process.info["name"] == "slurmstepd":
            with contextlib.suppress(psutil.Error):
                found += [process.pid, *(child.pid for child in process.children(recursive=True))]
    return found
