# SPDX-License-Identifier: Apache-2.0
"""Responses about the server itself and the stores that it follows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreStatus:
    """A store, and how well the server knows what is in it."""

    uri: str
    state: str
    """starting, following, or failing."""
    live: int = 0
    """Runs that are looked at again and again."""
    waiting: int = 0
    """Runs that were found and are yet to be read."""
    seen: datetime | None = None
    """When it was last looked at."""
    problem: str = ""
    """Why it cannot be read."""
    damaged: Mapping[str, str] | None = None
    """Runs that cannot be shown, by their uid, and why."""
    read_only: bool = False
    """Whether it is a source of `serve.sources`, into which nothing is written."""


class RunSource(StrEnum):
    """Where a server has its runs from: a catalog, or folders that `aboard view` shows."""

    CATALOG = "catalog"
    FOLDERS = "folders"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerInfo:
    """The server that responds."""

    version: str
    api: int
    pid: int
    private: bool
    """Whether it is the server that one person's own programs have started."""
    started: datetime
    catalog: str
    source: RunSource = RunSource.CATALOG
    title: str = ""
    """Of the folders, where the server is over folders."""
    stores: tuple[StoreStatus, ...] = ()
    run_store: str = ""
    """Where trainings of who asks put their runs, unless they are told another place; empty for who may log none."""
    board_executors: tuple[str, ...] = ()
    """Where boards may run as processes of their own, the server's own choice first."""
    busy: str = ""
    """What a restart would interrupt; empty if nothing. Boards in the server come back and do not count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreRequest:
    """A request that a local server follow a store."""

    uri: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A run, store or document that something went wrong with."""

    what: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReindexRequest:
    """A request to reindex all runs of a store."""

    store: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReindexState:
    """How far a reindexing is."""

    id: str
    store: str
    state: str
    """running, done, or failed."""
    found: int = 0
    """Runs that the store has."""
    read: int = 0
    written: int = 0
    missing: int = 0
    """Runs that the catalog knew and the store no longer has; they are in the bin now."""
    problems: tuple[Problem, ...] = ()
    error: str = ""

    @property
    def is_over(self) -> bool:
        """Whether nothing more happens."""
        return self.state != "running"


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """Whether the process answers."""

    status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """Whether the server can do its work."""

    status: str
    """ready, degraded, or not ready."""
    database: str
    """ok, or the code of what is wrong."""
    stores: int
    failing_stores: int
