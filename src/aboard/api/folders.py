# SPDX-License-Identifier: Apache-2.0
"""Responses about the folders and buckets that `aboard view` shows: what is in them, and what cannot be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderContent:
    """A folder or bucket, and what was found in it."""

    place: str
    files: int = 0
    """Without event files."""
    folders: int = 0
    kinds: Mapping[str, int] = field(default_factory=dict[str, int])
    """How many files end with each suffix, the most frequent first; the empty text stands for none."""
    is_partial: bool = False
    """Whether there is more than was counted."""
    problem: str = ""
    """Why it, or a folder below it, cannot be listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileProblem:
    """An event file that is damaged or cannot be read."""

    file: str
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceReport:
    """Where runs were looked for, and what is wrong there."""

    title: str
    folders: tuple[FolderContent, ...]
    problems: tuple[FileProblem, ...] = ()
    left_out: int = 0
    """How many more problems there are."""
