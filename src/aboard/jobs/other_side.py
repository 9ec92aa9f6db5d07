# SPDX-License-Identifier: Apache-2.0
"""The other side of a job: which program is aboard there, where its runs go, and how the source gets there."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from aboard.client.transport import Address
from aboard.config.settings import Settings
from aboard.errors import InvalidValue, StorageUnavailable
from aboard.executors.executor import Executor
from aboard.executors.source_archive import source_files
from aboard.model.unit_parts import Mount

TOKEN = "ABOARD_TOKEN"  # noqa: S105 - the name of a variable
_SHARES_FILES = frozenset({"local", "slurm"})  # what they start sees the folders of this machine under their names
_CHECKS_PATHS = frozenset({"kubernetes", "vertex"})  # they may see folders besides URIs
_KEEPS_DISK = frozenset({*_SHARES_FILES, "ssh"})  # what a unit leaves behind is there after its end
TAKES_SOURCE = frozenset({"docker"})  # it brings the source folder itself


@dataclass(frozen=True, kw_only=True)
class OtherSide:
    """What a unit needs so that `aboard run` works there."""

    program: tuple[str, ...]
    environment: Mapping[str, str]
    mounts: tuple[Mount, ...] = ()
    shares_files: bool = field(default=False)
    keeps_disk: bool = field(default=False)


def other_side(executor: Executor, settings: Settings, store: str, program: str = "") -> OtherSide:
    """How runs get from the units of an executor into `store`; refuses a store that they cannot reach."""
    shares = executor.name in _SHARES_FILES
    own = (program,) if program else (sys.executable, "-m", "aboard") if shares else ("aboard",)
    environment = {"ABOARD_STORE": store, **_server(settings, shares=shares)}
    if shares:
        environment["ABOARD_HOME"] = str(settings.home)
        return OtherSide(program=own, environment=environment, shares_files=True, keeps_disk=True)
    if "://" in store:
        keeps = executor.name in _KEEPS_DISK
        return OtherSide(program=own, environment=environment, keeps_disk=keeps)
    if executor.name == "docker" and getattr(executor, "is_here", False):
        _make(Path(store))
        return OtherSide(program=own, environment=environment, mounts=(Mount(source=store, target=store),))
    if executor.name in _CHECKS_PATHS:
        executor.check_path(store)
        return OtherSide(program=own, environment=environment)
    hint = "keep runs where both sides can: ABOARD_STORE=s3://BUCKET/PATH, or gs://, az://, oss://"
    raise InvalidValue(f"units of {executor.name} cannot see the store {store}", hint=hint)


def source_for(executor: Executor, source_dir: str | os.PathLike[str] | None, copy: Path, *, shares: bool) -> str:
    """The folder in which the command runs.

    Where units see the files of this machine they get a copy, so that what is changed while a job waits does not
    change the job; without a source folder they run where the person is.
    """
    if source_dir is None:
        return str(Path.cwd()) if shares else ""
    folder = Path(source_dir).expanduser().absolute()
    if shares:
        _copy(folder, copy)
        return str(copy)
    if executor.name in TAKES_SOURCE:
        source_files(folder)  # an error now, not one when everything else was made
        return str(folder)
    return ""  # it goes through the store


def _copy(folder: Path, copy: Path) -> None:
    try:
        for name in source_files(folder):
            target = copy / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(folder / name, target, follow_symlinks=False)
        copy.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageUnavailable(f"the source folder {folder} cannot be copied: {error}") from error


def _server(settings: Settings, *, shares: bool) -> dict[str, str]:
    """The server of the person; one of this machine is not there for others, and finds runs in the store itself."""
    if not settings.server or (Address.of(settings.server, None).is_loopback and not shares):
        return {}
    return {"ABOARD_SERVER": settings.server, **({TOKEN: settings.token} if settings.token else {})}


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageUnavailable(f"the store {folder} cannot be made: {error.strerror}") from error
