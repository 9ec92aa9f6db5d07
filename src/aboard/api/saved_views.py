# SPDX-License-Identifier: Apache-2.0
"""What is asked about saved views; what is told is the model's own type."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSavedView:
    """A view to keep. `address` is what follows `/w/<workspace>/` in the browser."""

    workspace: str
    name: str
    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedViewChange:
    """What is to change; what is None stays as it is."""

    name: str | None = None
    address: str | None = None
