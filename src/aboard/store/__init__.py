# SPDX-License-Identifier: Apache-2.0
"""Bytes under keys, in a folder or a bucket."""

from aboard.store.connection import Connection, Patience
from aboard.store.opening import open_store
from aboard.store.store import Store, Traffic, TrafficCount

__all__ = ["Connection", "Patience", "Store", "Traffic", "TrafficCount", "open_store"]
