# SPDX-License-Identifier: Apache-2.0
"""What is asked about workspaces and experiments; what is told are the model's own types."""

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
