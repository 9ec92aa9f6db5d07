# SPDX-License-Identifier: Apache-2.0
"""Names as the catalog keeps them: short enough for an index, whatever a document says."""

from __future__ import annotations

import hashlib

from aboard.catalog.columns import storable
from aboard.catalog.schema import LONGEST_KEY
from aboard.model.names import folded


def stored_fold(name: str) -> str:
    """The form of a name in which it is found: capitals make no difference."""
    return stored_key(folded(name))


def stored_key(name: str) -> str:
    """A name that fits into an index; a very long one keeps its beginning and gets a digest for the rest."""
    name = storable(name)
    if len(name) <= LONGEST_KEY:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    return f"{name[: LONGEST_KEY - 20]}…{digest}"
