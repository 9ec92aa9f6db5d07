# SPDX-License-Identifier: Apache-2.0
"""Changes of workspaces, experiments and saved views in the API; the responses are the records of the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class NewWorkspace:
    """A workspace to make."""

    name: str
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceChange:
    """What is to change; what is None stays as it is."""

    name: str | None = None
    description: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewExperiment:
    """An experiment to make."""

    workspace: str
    name: str
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentChange:
    """What is to change; what is None stays as it is."""

    name: str | None = None
    description: str | None = None
    tags: Mapping[str, str] | None = None


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
