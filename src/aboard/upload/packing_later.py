# SPDX-License-Identifier: Apache-2.0
"""Puts the columns object that a sealed run in a store lacks: sealed by an earlier version, preempted, or cut short.

Nobody writes to a sealed run, so nobody is in the way. The manifest is left as it is: readers ask for the object
itself. Should the run be opened again meanwhile, that is announced, and readers believe the manifest instead.
"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum

from aboard.errors import KeyExists, KeyNotFound
from aboard.store.run.claiming import announcements_of
from aboard.store.run.columns_object import SealedDocuments
from aboard.store.run.layout import RUN, SEALED
from aboard.store.run.manifest import render_manifest
from aboard.store.run.run_folder import RunFolder
from aboard.upload.packing import MOST_EVENT_BYTES, packed_columns


class Packed(StrEnum):
    """What became of a run."""

    PACKED = "packed"
    THERE = "there already"
    LIVE = "not over"
    NOT_POSSIBLE = "not possible"
    """No event files, too many of them, or not what the manifest says."""


def pack_later(folder: RunFolder) -> Packed:
    """Put the columns of a run if it is sealed and has none. Raises what the store raises."""
    if folder.store.exists(folder.key(SEALED)):
        return Packed.THERE
    announced = announcements_of(folder)  # before the documents: what is changed later is announced later
    read = folder.read_manifest()
    if read is None or not read.manifest.sealed:
        return Packed.LIVE
    try:
        run = folder.store.get(folder.key(RUN)).decode()
    except (KeyNotFound, UnicodeDecodeError):
        run = ""
    columns = packed_columns(folder, read.manifest.files, (), most_fetched=MOST_EVENT_BYTES)
    if columns is None:
        return Packed.NOT_POSSIBLE
    manifest = render_manifest(replace(read.manifest, columns=None)).decode()
    try:
        data = columns.render(SealedDocuments(manifest, run, announced))
        folder.store.put(folder.key(SEALED), data, create_only=True)
    except KeyExists:
        return Packed.THERE
    if folder.read_manifest() != read:
        folder.delete([SEALED])
        return Packed.LIVE
    return Packed.PACKED
