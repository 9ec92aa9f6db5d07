# SPDX-License-Identifier: Apache-2.0
"""How a run stands in a store when shipping begins or goes on."""

from __future__ import annotations

from dataclasses import dataclass, field

from aboard.store.run.file_row import FileRow
from aboard.store.run.manifest import Manifest
from aboard.store.run.outputs import Outputs
from aboard.upload.growing_file import Plan


@dataclass(frozen=True)
class Standing:
    """What is there, and what was begun."""

    manifest: Manifest
    """As it will go on: its files may be fewer or more than those of the one in the store."""
    is_put: bool
    """Whether the store has just this manifest."""
    outputs: Outputs
    plans: dict[str, Plan] = field(default_factory=dict[str, Plan])
    """By path: what may have been sent already."""
    garbage: tuple[str, ...] = ()
    """Objects that nobody names any more."""

    @property
    def files(self) -> tuple[FileRow, ...]:
        """The growing files."""
        return self.manifest.files
