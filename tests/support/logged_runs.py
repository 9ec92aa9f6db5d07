# SPDX-License-Identifier: Apache-2.0
"""Runs in a store of this machine, with real event files in them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aboard import SummaryWriter
from aboard.store import Store
from support.stored_runs import store_run


def logged_run(store: Store, *, curves: Mapping[str, list[float]], logdir: str = "", **about: Any) -> str:
    """A run with these points, which are logged at steps 0, 1, 2 …; its uid."""
    uid = store_run(store, **about)
    log_more(store, uid, curves=curves, logdir=logdir)
    return uid


def log_more(store: Store, uid: str, *, curves: Mapping[str, list[float]], logdir: str = "", first: int = 0) -> None:
    """Points of a run, from step `first` on, one second apart from 1970-01-01T00:16:40 on."""
    with SummaryWriter(str(tb_folder(store, uid, logdir))) as writer:
        for tag, values in curves.items():
            for step, value in enumerate(values, first):
                writer.add_scalar(tag, value, step, walltime=1000.0 + step)


def tb_folder(store: Store, uid: str, logdir: str = "") -> Path:
    return Path(store.uri, uid, "tb", logdir)
