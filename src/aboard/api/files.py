# SPDX-License-Identifier: Apache-2.0
"""Responses about files of runs, their console logs, and media: images, audio, histograms and texts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFile:
    """A file of a run in its store."""

    path: str
    """`output/…`, `log/…`, or `tb/…` for event files."""
    bytes: int
    modified: datetime | None = None
    """When the training last changed it."""
    link: str = ""
    """Not empty: a symbolic link to this place."""
    gone: bool = False
    """The training deleted it; the store keeps it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPart:
    """A part of what a run has printed."""

    path: str
    """The file that it stands in; each attempt has its own."""
    offset: int
    """Where in the file the part begins."""
    next: int
    """Where it ends: ask for what comes behind with `offset`."""
    size: int
    """How long the file is so far."""
    text: str
    """What is not UTF-8 is replaced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaEntry:
    """One logged value that is no number; `GET runs/{run}/media/content` has it."""

    step: int
    wall_time: float
    """Seconds since 1970."""
    bytes: int
    """About how large it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistogramEntry:
    """Counts in buckets at one step."""

    step: int
    wall_time: float
    lefts: tuple[float, ...]
    rights: tuple[float, ...]
    counts: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextEntry:
    """A text at one step, as it was logged; not to be shown as HTML."""

    step: int
    wall_time: float
    text: str
