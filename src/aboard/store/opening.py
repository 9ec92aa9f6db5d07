# SPDX-License-Identifier: Apache-2.0
"""Opens a store by its URI. The modules of each kind of store are imported when that kind is opened."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from aboard.errors import InvalidValue
from aboard.store.connection import Connection, Patience
from aboard.store.store import Store
from aboard.store.uri import StoreAddress, parse_uri

if TYPE_CHECKING:
    from aboard.store.clouds.client import BucketClient, ClientSettings


def open_store(
    uri: str | os.PathLike[str],
    *,
    read_only: bool = False,
    create: bool = False,
    fsync: bool = True,
    connection: Connection | None = None,
    patience: Patience | None = None,
) -> Store:
    """The store at a path, file://, s3://, gs://, az://, oss:// or memory:// URI.

    `create` makes a missing folder; buckets are never made. `fsync=False` leaves it to the system when a folder's files
    reach the disk. `connection` and `patience` are for object stores; what they leave open, the environment of each
    cloud says. Opening does not look whether the store is there: `Store.check` does.
    """
    address = parse_uri(uri)
    if address.kind == "file":
        return _folder(address, read_only=read_only, create=create, fsync=fsync)
    if address.kind == "memory":
        from aboard.store.memory import MemoryStore

        return MemoryStore(address.uri, address.bucket, address.prefix, read_only=read_only)
    from aboard.store.clouds.client import ClientSettings
    from aboard.store.object import ObjectStore

    settings = ClientSettings(address, connection or Connection(), patience or Patience(), dict(os.environ))
    return ObjectStore(address.uri, address.prefix, make_client(settings), read_only=read_only)


def _folder(address: StoreAddress, *, read_only: bool, create: bool, fsync: bool) -> Store:
    from aboard.store.folder import FolderStore

    if address.path is None:
        raise InvalidValue(f"{address.uri} names no folder.")
    return FolderStore(address.uri, address.path, read_only=read_only, create=create, fsync=fsync)


def make_client(settings: ClientSettings) -> BucketClient:
    """The client of an address; the modules of the clouds are loaded as needed."""
    from aboard.store.clouds import azure, gcs, oss, s3

    makers = {
        "s3": s3.make,
        "oss": oss.make,
        "gs": gcs.make,
        "az": azure.make,
    }
    return makers[settings.address.kind](settings)
