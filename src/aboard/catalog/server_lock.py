# SPDX-License-Identifier: Apache-2.0
"""One server process per SQLite catalog."""

from __future__ import annotations

from pathlib import Path

from aboard.errors import CatalogUnavailable, Conflict
from aboard.foundation.locks import LockHeld, ProcessLock


def lock_catalog(catalog: Path) -> ProcessLock:
    """The lock on `<catalog>.lock`; an error names the server that has it."""
    path = catalog.with_name(catalog.name + ".lock")
    try:
        return ProcessLock(path)
    except LockHeld as held:
        raise Conflict(
            f"the catalog {catalog} is in use by another server, process {held.holder or 'unknown'}",
            hint="stop it, or use PostgreSQL when several servers share a catalog",
        ) from None
    except OSError as error:
        raise CatalogUnavailable(f"{path} cannot be opened: {error.strerror}") from error
