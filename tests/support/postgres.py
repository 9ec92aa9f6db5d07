# SPDX-License-Identifier: Apache-2.0
"""A real PostgreSQL server of the tests' own, on loopback and a free port, and empty databases in it."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Generator
from pathlib import Path
from typing import Any, cast

from support.object_servers import free_ports
from support.processes import needs

_DEBIAN = "/usr/lib/postgresql"


def _program(name: str) -> str | None:
    """Debian keeps the servers' programs out of the path, the newest version is taken."""
    found = sorted(Path(_DEBIAN).glob(f"*/bin/{name}"), key=lambda path: float(path.parts[-3]))
    return str(found[-1]) if found else shutil.which(name)


def why_no_postgres() -> str:
    """Why PostgreSQL cannot be started here, or nothing."""
    if _program("initdb") is None or _program("pg_ctl") is None:
        return "PostgreSQL is not installed (Debian: postgresql)"
    if os.geteuid() == 0 and not _has_postgres_user():
        return "PostgreSQL does not run as root, and there is no user postgres"
    return ""


def _has_postgres_user() -> bool:
    try:
        pwd.getpwnam("postgres")
    except KeyError:
        return False
    return True


class PostgresServer:
    """A running server."""

    def __init__(self, folder: Path) -> None:
        self._data = folder / "data"
        if os.geteuid() == 0:
            shutil.chown(folder, "postgres", "postgres")
        self._folder = folder
        self._run("initdb", "-D", self._data, "-A", "trust", "-U", "app", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8")
        (self._port,) = free_ports(1)  # the moment before it is taken
        self.start()

    def start(self) -> None:
        settings = (
            f"-c listen_addresses=127.0.0.1 -p {self._port} -c unix_socket_directories={self._folder} -c fsync=off"
        )
        self._run("pg_ctl", "-D", self._data, "-w", "-l", self._folder / "log", "-o", settings, "start")

    def stop(self) -> None:
        self._run("pg_ctl", "-D", self._data, "-w", "-m", "immediate", "stop")

    def url(self, database: str) -> str:
        return f"postgresql://app@127.0.0.1:{self._port}/{database}"

    def new_database(self) -> str:
        """The URL of an empty database. Its language is not C, so that a missing collation is noticed."""
        name = f"t{uuid.uuid4().hex}"
        self._execute(f"CREATE DATABASE {name} TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'de-DE'")
        return self.url(name)

    def database_without_language(self) -> str:
        """As `initdb` makes it where nothing is said of one."""
        name = f"t{uuid.uuid4().hex}"
        self._execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'")
        return self.url(name)

    def copied_database(self, url: str) -> str:
        """The URL of a copy of a database that nobody is connected to."""
        name = f"t{uuid.uuid4().hex}"
        self._execute(f"CREATE DATABASE {name} TEMPLATE {url.rpartition('/')[2]}")
        return self.url(name)

    def drop_database(self, url: str) -> None:
        self._execute(f"DROP DATABASE {url.rpartition('/')[2]} WITH (FORCE)")

    def _execute(self, statement: str) -> None:
        import psycopg

        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(cast("Any", statement))

    def _run(self, program: str, *arguments: object) -> None:
        as_postgres = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        command = [*as_postgres, str(_program(program)), *map(str, arguments)]
        # What the server inherits it keeps open, so its output goes to files and not to pipes that nobody ends.
        with tempfile.TemporaryFile() as output:
            ended = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd="/")
            output.seek(0)
            assert ended.returncode == 0, f"{command}: {output.read().decode()}"


@contextlib.contextmanager
def postgres_server() -> Generator[PostgresServer]:
    """A server for a while. Where there is none the tests are skipped, except on CI."""
    needs(why_no_postgres())
    folder = Path(tempfile.mkdtemp(prefix="aboard-postgres-", dir="/tmp"))  # pytest's own folders are closed to others
    server = None
    try:
        server = PostgresServer(folder)
        yield server
    finally:
        if server is not None:
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)
