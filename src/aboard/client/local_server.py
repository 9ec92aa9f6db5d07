# SPDX-License-Identifier: Apache-2.0
"""The local server of this account: found, or started in the background, and replaced when it is too old.

A client uses the server over the catalog in the home folder when it runs in the foreground, else a server that this
account runs over a catalog elsewhere (`aboard.server.registration` writes its file), else the local server.

A server over the catalog in the home folder holds a lock on `running.lock` as long as it lives, so whoever can take
that lock knows that there is none, whatever a file or a process number says. Starters take turns by `start.lock`.
The server writes its address and token into `server.json`, readable by its owner alone, when it listens, and
removes the file when it ends.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from aboard.api import VERSION
from aboard.api.server import ServerInfo, StoreRequest, StoreStatus
from aboard.client.transport import Address, Transport
from aboard.config.credentials import CLOUDS, cloud_of, fingerprints
from aboard.config.home import home_hint, is_full, machine_folder
from aboard.errors import AboardError, Conflict, Forbidden, ServerUnavailable
from aboard.foundation.files import make_private_folder
from aboard.foundation.locks import LockHeld, is_locked, locked
from aboard.version import __version__

_log = logging.getLogger("aboard.client")
START_SECONDS = 60.0
_STOP_SECONDS = 20.0
_LOOK_SECONDS = 0.05
_ANSWER_SECONDS = 10.0
_TRUSTED_SECONDS = 5.0  # how long an answer is taken as a sign that the next question will be answered, too
_LARGEST_LOG = 5 << 20
_NEEDED_BYTES = 256 << 10  # for the catalog's files and the beginning of the log


@dataclass(frozen=True, slots=True)
class ServerFiles:
    """Where a local server leaves what others need to know."""

    folder: Path

    @classmethod
    def below(cls, home: Path) -> ServerFiles:
        return cls(home / "server")

    @property
    def address(self) -> Path:
        return self.folder / "server.json"

    @property
    def running(self) -> Path:
        return self.folder / "running.lock"

    @property
    def starting(self) -> Path:
        return self.folder / "start.lock"

    @property
    def log(self) -> Path:
        return self.folder / "server.log"


class LocalServer:
    """Knows the address of the local server below a home folder, and has one started."""

    def __init__(self, home: Path, store: str) -> None:
        self._home = home
        self._store = store if "://" in store else str(Path(store).expanduser().absolute())
        self._machine = machine_folder(home)
        self._files = ServerFiles.below(self._machine)
        self._known: Address | None = None
        self._answered = 0.0
        self._clouds = {cloud} if (cloud := cloud_of(self._store)) else set[str]()
        """Clouds whose buckets a request names."""
        self._has_said_restart = False

    def address(self) -> Address:
        """The address of a server that has just answered; it knows the configured store."""
        if self._known is not None and time.monotonic() - self._answered < _TRUSTED_SECONDS:
            return self._known
        found = self._usable()
        if found is None:
            self._make_folder()
            with _locked(self._files.starting, START_SECONDS):
                found = self._usable() or self._start()
        self._known, self._answered = found, time.monotonic()
        return found

    def need(self, uris: Iterable[str]) -> None:
        """Say which URIs the next requests are about: the server needs this process's credentials for them."""
        clouds = {cloud for uri in uris if (cloud := cloud_of(uri))}
        if not clouds <= self._clouds:
            self._clouds |= clouds
            self._known = None

    def renewed(self) -> Address:
        """The address of a server that answers, whatever was known before."""
        self._known = None
        return self.address()

    def _usable(self) -> Address | None:
        """The address of the server that is there, if it answers and is not too old."""
        address = self._written()
        info = _request_info(address) if address else None
        if (info is None or info.private) and (elsewhere := self._elsewhere()) is not None:
            return elsewhere
        if address is None or info is None or _is_older(info):
            return None
        if info.private and (cloud := self._other_credentials()):
            self._check_restart(info, cloud)
            return None
        if all(one.uri != self._store for one in info.stores):
            with contextlib.suppress(Forbidden):  # the stores of a team server are named by who runs it
                Transport(address).send(StoreStatus, "POST", "stores", StoreRequest(uri=self._store))
        return address

    def _other_credentials(self) -> str:
        """A cloud that is needed and for which this process has other credentials than the server began with."""
        server, own = self._credentials()
        return next((cloud for cloud in sorted(self._clouds) if own.get(cloud) and own[cloud] != server.get(cloud)), "")

    def _credentials(self) -> tuple[Mapping[str, object], Mapping[str, str]]:
        """Digests of the credentials of the server and of this process; none if the server recorded none."""
        match self._document().get("credentials"):
            case {"salt": str(salt)} as server:
                return cast("Mapping[str, object]", server), fingerprints(os.environ, salt)
            case _:
                return {}, {}

    def _check_restart(self, info: ServerInfo, cloud: str) -> None:
        """Refuse where a restart with the credentials of this process would break something."""
        server, own = self._credentials()
        missing = [CLOUDS[other] for other in CLOUDS if server.get(other) and not own.get(other)]
        if not (info.busy or missing):
            if not self._has_said_restart:
                self._has_said_restart = True
                _log.warning("Restarting the local server: it was started with other %s variables.", CLOUDS[cloud])
            return
        why = info.busy or f"It was started with {' and '.join(missing)} variables, which are not set here."
        first = f"Set {' and '.join(missing)} here too, then run" if missing else "To restart it, run"
        raise Conflict(
            f"The local server was started with other {CLOUDS[cloud]} variables than this command has. {why}",
            hint=f"{first}: kill {info.pid}. The next command starts it again with the variables of that command.",
        )

    def _elsewhere(self) -> Address | None:
        """One of the servers over a catalog elsewhere: the newest that answers, or that can say why it does not."""
        servers = check_one_catalog(find_announced_servers(self._machine))
        addresses = [Address(one.url, one.token) for one in servers]
        return next(filter(_request_info, addresses), addresses[0] if addresses else None)

    def _written(self) -> Address | None:
        match self._document():
            case {"url": str(url), "token": str(token)}:
                return Address(url, token)
            case _:
                return None

    def _document(self) -> dict[str, object]:
        try:
            document: object = json.loads(self._files.address.read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        return cast("dict[str, object]", document) if isinstance(document, dict) else {}

    def _start(self) -> Address:
        """Start a server and wait until it answers; the caller holds the lock of those who start."""
        self._end_old()
        self._check_space()
        log_size = self._begin_log()
        self._spawn()
        end = time.monotonic() + START_SECONDS
        has_lived = False
        while time.monotonic() < end:
            time.sleep(_LOOK_SECONDS)
            if (address := self._usable()) is not None:
                return address
            is_running = not _is_free(self._files.running)
            if (has_lived and not is_running) or self._has_failed(log_size):
                break
            has_lived = has_lived or is_running
        raise ServerUnavailable(
            f"the private server could not be started: {self._read_log(log_size) or 'it did not answer in time'}",
            hint=f"see {self._files.log}, or name a server with ABOARD_SERVER",
        )

    def _end_old(self) -> None:
        """Have a server end that is there but too old, or does not answer any more."""
        if _is_free(self._files.running):
            return
        address = self._written()
        if address is not None:
            with contextlib.suppress(AboardError):
                Transport(address, timeout=_ANSWER_SECONDS).send(object, "POST", "shutdown")
        end = time.monotonic() + _STOP_SECONDS
        while not _is_free(self._files.running):
            if (found := self._usable()) is not None and found != address:
                return
            if time.monotonic() > end:
                process = _text(self._files.running) or "that holds its lock"
                raise ServerUnavailable(
                    "a server is there that is too old or does not answer, and it does not end",
                    hint=f"end the process {process}; see {self._files.log}",
                )
            time.sleep(_LOOK_SECONDS)

    def _command(self) -> list[str]:
        return [sys.executable, "-P", "-c", "from aboard.cli import main; main()", "server", "--private"]

    def _spawn(self) -> None:
        """By way of a shell, so that the server is nobody's child; without what this process has open."""
        environment = {**os.environ, "ABOARD_HOME": str(self._home), "ABOARD_STORE": self._store}
        try:
            with self._files.log.open("ab") as log:
                subprocess.run(
                    ["/bin/sh", "-c", '"$@" &', "sh", *self._command()],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    cwd="/",
                    env=environment,
                    start_new_session=True,
                    check=True,
                )
        except (OSError, subprocess.CalledProcessError) as error:
            raise ServerUnavailable(f"the private server could not be started: {error}") from error

    def _make_folder(self) -> None:
        try:
            make_private_folder(self._files.folder)
        except OSError as error:
            raise ServerUnavailable(
                f"{self._files.folder} cannot be made: {error.strerror}",
                hint="set ABOARD_HOME to a place that can be written, or ABOARD_SERVER to a server",
            ) from error

    def _check_space(self) -> None:
        """A server on a full disk cannot even log why it ends, so find out before."""
        probe = self._files.folder / f"space.{os.getpid()}.aside"
        try:
            probe.write_bytes(bytes(_NEEDED_BYTES))
        except OSError as error:
            full = f"The disk with {self._files.folder} is full"
            cause = full if is_full(error) else f"{probe.parent}: {error.strerror}"
            message = f"The local server cannot be started. {cause}."
            raise ServerUnavailable(message, hint=home_hint(error)) from error
        finally:
            with contextlib.suppress(OSError):
                probe.unlink()

    def _begin_log(self) -> int:
        log = self._files.log
        with contextlib.suppress(OSError):
            if log.stat().st_size > _LARGEST_LOG:
                log.replace(log.with_suffix(".log.1"))
        try:
            os.close(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
            return log.stat().st_size
        except OSError as error:
            raise ServerUnavailable(f"{log} cannot be written: {error.strerror}") from error

    def _read_log(self, since: int) -> str:
        with contextlib.suppress(OSError), self._files.log.open("rb") as file:
            file.seek(since)
            said = file.read(1 << 16).decode("utf-8", "replace").strip()
            return said.rpartition("error: ")[2][-2000:]
        return ""

    def _has_failed(self, log_size: int) -> bool:
        with contextlib.suppress(OSError), self._files.log.open("rb") as file:
            file.seek(log_size)
            said = file.read(1 << 16)
            return said.startswith((b"error: ", b"Traceback")) or b"\nerror: " in said
        return False


def _request_info(address: Address) -> ServerInfo | None:
    try:
        return Transport(address, timeout=_ANSWER_SECONDS).get(ServerInfo, "info")
    except AboardError:
        return None


def _is_older(info: ServerInfo) -> bool:
    """A newer server that speaks this version of the API is used as it is: it may have changed the catalog."""
    if info.api != VERSION:
        return True
    if info.version == __version__:
        return False
    try:
        return _numbers(info.version) < _numbers(__version__)
    except ValueError:
        return True


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _is_free(path: Path) -> bool:
    """Whether nobody holds the lock."""
    try:
        return not is_locked(path)
    except OSError as error:
        return isinstance(error, FileNotFoundError)


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8").strip()
    except OSError:
        return ""


@contextlib.contextmanager
def _locked(path: Path, seconds: float) -> Generator[None]:
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(locked(path, seconds=seconds))
        except OSError as error:
            raise ServerUnavailable(f"{path} cannot be opened: {error.strerror}") from error
        except LockHeld:
            raise ServerUnavailable(
                "another program has been starting the private server for a minute",
                hint=f"see {path.parent / 'server.log'}",
            ) from None
        yield


@dataclass(frozen=True, slots=True)
class AnnouncedServer:
    """A server that lives, with what opens it."""

    url: str
    token: str = field(repr=False)
    catalog: str
    started: str


def find_announced_servers(home: Path) -> list[AnnouncedServer]:
    """Those that live, the newest first; `home` is the folder of this machine."""
    found = [one for path in (home / "server" / "elsewhere").glob("*.json") if (one := _living(path)) is not None]
    return sorted(found, key=lambda one: one.started, reverse=True)


def check_one_catalog(servers: Sequence[AnnouncedServer]) -> Sequence[AnnouncedServer]:
    """The same servers, each as good as another over one catalog; an error where there are several catalogs."""
    if len({one.catalog for one in servers}) > 1:
        told = ", ".join(f"{one.url} ({one.catalog})" for one in servers)
        raise Conflict(
            f"this account runs servers over different catalogs: {told}",
            hint=f"say which is meant, as in ABOARD_SERVER={servers[0].url}; this account needs no token for it",
        )
    return servers


def _living(path: Path) -> AnnouncedServer | None:
    try:
        text = path.read_bytes()
        if not is_locked(path):
            return None  # its server is gone
        document: object = json.loads(text)
    except (OSError, ValueError):
        return None
    match cast("dict[str, object]", document) if isinstance(document, dict) else {}:
        case {"url": str(url), "token": str(token), "catalog": str(catalog), "started": str(started)}:
            return AnnouncedServer(url, token, catalog, started)
        case _:
            return None
