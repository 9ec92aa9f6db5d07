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
from aboard.jobs.source_links import links_out, refuse_links_out
from aboard.model.unit_parts import Mount

TOKEN = "ABOARD_TOKEN"  # noqa: S105 - the name of a variable


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
    shares = executor.shares_files
    own = (program,) if program else (sys.executable, "-m", "aboard") if shares else ("aboard",)
    environment = {"ABOARD_STORE": store, **_server(settings, shares=shares)}
    if shares:
        environment["ABOARD_HOME"] = str(settings.home)
        return OtherSide(program=own, environment=environment, shares_files=True, keeps_disk=executor.keeps_disk)
    if "://" in store:
        return OtherSide(program=own, environment=environment, keeps_disk=executor.keeps_disk)
    if executor.takes_mounts and executor.is_here:
        _make(Path(store))
        return OtherSide(program=own, environment=environment, mounts=(Mount(source=store, target=store),))
    if executor.knows_paths:
        executor.check_path(store)
        return OtherSide(program=own, environment=environment)
    hint = "keep runs where both sides can: ABOARD_STORE=s3://BUCKET/PATH, or gs://, az://, oss://"
    raise InvalidValue(f"units of {executor.name} cannot see the store {store}", hint=hint)


def source_for(executor: Executor, source_dir: str | os.PathLike[str] | None, copy: Path, *, shares: bool) -> str:
    """The folder in which the command runs, when `bring_source` has brought it there.

    Where units see the files of this machine they get a copy, so that what is changed while a job waits does not
    change the job; without a source folder they run where the person is.
    """
    if source_dir is None:
        return str(Path.cwd()) if shares else ""
    if shares:
        return str(copy)
    # Where the executor does not bring it, it goes through the store.
    return str(Path(source_dir).expanduser().absolute()) if executor.brings_source else ""


def bring_source(folder: Path, copy: Path, *, copies: bool) -> None:
    """Copy a source folder, without what git ignores; or have an error now, and not when everything else was made."""
    names = source_files(folder)
    if not copies:
        refuse_links_out(folder, [name for name in names if not _is_absolute_link(folder / name)])
        return
    try:
        leading_out = set(links_out(folder, names))
        for name in names:
            target = copy / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if name in leading_out:  # from the place of the copy it would lead elsewhere
                target.symlink_to((folder / name).parent / (folder / name).readlink())
            else:
                shutil.copy2(folder / name, target, follow_symlinks=False)
        copy.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        hint = "have git ignore what cannot be read, and look whether there is space"
        raise StorageUnavailable(f"the source folder {folder} cannot be copied: {error}", hint=hint) from error


def _is_absolute_link(path: Path) -> bool:
    """A container may have the same folder, by a mount or in its image."""
    return path.is_symlink() and path.readlink().is_absolute()


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
