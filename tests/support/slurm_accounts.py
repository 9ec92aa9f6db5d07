# SPDX-License-Identifier: Apache-2.0
"""The accounts of a test cluster: a real MariaDB and slurmdbd, on loopback, in the cluster's folder.

slurmdbd listens on every address: this is for a network namespace of its own, as `scripts/test-cluster` makes one.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from pathlib import Path

from support.processes import until

_DATABASE_PORT, _ACCOUNTS_PORT = 16819, 16820
CONF = """
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=localhost
AccountingStoragePort={port}
AccountingStoragePass={folder}/munge/socket
AccountingStorageEnforce=associations,limits,qos
JobAcctGatherType=jobacct_gather/none
"""
_DBD = """
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
DbdHost=localhost
DbdPort={port}
SlurmUser=root
LogFile={folder}/slurmdbd.log
PidFile={folder}/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={database}
StorageUser=root
StoragePass=none
StorageLoc=accounts
"""


def why_no_accounts() -> str:
    for program in ("/usr/sbin/slurmdbd", "/usr/sbin/mariadbd"):
        if not Path(program).exists():
            return f"there is no {program} (Debian: slurmdbd mariadb-server)"
    return ""


def accounts_conf(folder: Path) -> str:
    """What slurm.conf says about them."""
    return CONF.format(folder=folder, port=_ACCOUNTS_PORT).lstrip()


def start_accounts(folder: Path) -> list[subprocess.Popen[bytes]]:
    """The processes; munge is running."""
    data = folder / "mariadb"
    data.mkdir()
    shutil.chown(data, "mysql", "mysql")
    install = ["mariadb-install-db", "--user=mysql", f"--datadir={data}", "--skip-test-db"]
    subprocess.run(install, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    options = [f"--datadir={data}", f"--socket={data}/socket", f"--pid-file={data}/pid", f"--port={_DATABASE_PORT}"]
    options += ["--no-defaults", "--user=mysql", "--bind-address=127.0.0.1", "--skip-grant-tables"]
    options.sort(key=lambda option: option != "--no-defaults")  # must come first
    database = _started(folder, ["/usr/sbin/mariadbd", *options])
    until(lambda: _answers(_DATABASE_PORT))
    conf = folder / "slurmdbd.conf"
    conf.write_text(_DBD.format(folder=folder, port=_ACCOUNTS_PORT, database=_DATABASE_PORT).lstrip())
    conf.chmod(0o600)
    accounts = _started(folder, ["/usr/sbin/slurmdbd", "-D"])
    until(lambda: _answers(_ACCOUNTS_PORT))
    return [accounts, database]


def _started(folder: Path, command: list[str]) -> subprocess.Popen[bytes]:
    environ = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}
    with (folder / f"{Path(command[0]).name}.out").open("ab") as out:
        return subprocess.Popen(command, stdout=out, stderr=out, env=environ, cwd="/")


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
