# SPDX-License-Identifier: Apache-2.0
"""Refuses file systems on which SQLite's locks do not hold."""

from __future__ import annotations

from pathlib import Path

from aboard.errors import CatalogUnavailable
from aboard.foundation.file_systems import network_file_system_of


def refuse_network_file_system(path: Path) -> None:
    """An error when `path` would lie on a network file system."""
    if kind := network_file_system_of(path):
        raise CatalogUnavailable(
            f"{path} lies on a network file system ({kind}), where SQLite loses data",
            hint="put the catalog on a local disk, or use PostgreSQL: postgresql://user@host/database",
        )
