# SPDX-License-Identifier: Apache-2.0
"""A source folder that goes to the other side through the store, for units that see nothing of this machine.

It is packed under a key made of its content, so the same source is sent once. `aboard run` unpacks it there before the
command starts, and runs the command in it.
"""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from collections.abc import MutableMapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from aboard.errors import InvalidValue, KeyExists
from aboard.executors.source_archive import source_archive
from aboard.store.opening import open_store

VARIABLE = "ABOARD_SOURCE_KEY"
"""Names the source in the store of the run; `aboard run` looks for it there."""
_PREFIX = "_sources"


@dataclass(frozen=True, kw_only=True)
class SentSource:
    """A packed folder and the key that it gets."""

    key: str
    packed: bytes = field(repr=False)

    @classmethod
    def of(cls, folder: Path) -> Self:
        """The folder as it is now, without what git ignores."""
        packed = source_archive(str(folder), below=".")
        return cls(key=f"{_PREFIX}/{hashlib.sha256(packed).hexdigest()[:32]}.tar", packed=packed)

    def send(self, store: str) -> None:
        """Put it into the store, unless it is there."""
        opened = open_store(store)
        try:
            opened.put(self.key, self.packed, create_only=True)
        except KeyExists:
            return


def enter_source(environ: MutableMapping[str, str], store: str, home: Path) -> None:
    """Go into the source that a job was given, if it was given one; the command does not see the variable."""
    key = environ.pop(VARIABLE, "")
    if not key:
        return
    if not key.startswith(f"{_PREFIX}/"):
        raise InvalidValue(
            f"${VARIABLE} is {key!r}, which is not the key of a source", hint="leave it to `aboard submit`"
        )
    folder = home / "sources" / Path(key).stem
    if not folder.is_dir():
        _unpack(open_store(store, read_only=True).get(key), folder)
    os.chdir(folder)


def _unpack(packed: bytes, folder: Path) -> None:
    """Whole or not at all: another run of this machine may do the same."""
    aside = folder.with_name(f".{folder.name}.{os.getpid()}")
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(aside, filter="data")
    try:
        aside.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise
