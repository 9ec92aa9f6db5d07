# SPDX-License-Identifier: Apache-2.0
"""Removes from the stores of a server what jobs need no more: copies of source folders, and marks of cancelled jobs."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from aboard.errors import AboardError
from aboard.jobs.cancel_marks import clean_marks
from aboard.jobs.kept_sources import clean_sources
from aboard.store import open_store

_log = logging.getLogger("aboard.services")


def clean_stores(stores: Iterable[str]) -> None:
    """Look through each; one that fails, or in which a server may not delete, keeps what it has."""
    for uri in stores:
        try:
            store = open_store(uri)
            removed = clean_sources(store)
            clean_marks(store)
        except AboardError as error:
            _log.info("What ended jobs left stays in %s: %s", uri, error.message)
            continue
        if removed:
            _log.info("%d sources that no job needs any more were removed from %s.", removed, uri)
