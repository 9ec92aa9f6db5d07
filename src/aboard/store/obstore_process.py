# SPDX-License-Identifier: Apache-2.0
"""Loads obstore when the first object store is opened, and keeps it out of forked children, where it would hang."""

from __future__ import annotations

import importlib
import os
from typing import Any

from aboard.errors import StoreError

_loaded_in: int | None = None
_obstore: Any = None


def obstore_of_this_process() -> Any:
    """The obstore package; an error in a child that was forked after it had been loaded."""
    global _loaded_in, _obstore
    if _obstore is None:
        _loaded_in = os.getpid()
        for name in ("exceptions", "store"):
            importlib.import_module(f"obstore.{name}")
        _obstore = importlib.import_module("obstore")
    if _loaded_in != os.getpid():
        raise StoreError(
            "An object store cannot be used in a process that was forked from one that used it already.",
            hint='Start the process by spawn or exec, such as multiprocessing.get_context("spawn").',
        )
    return _obstore


def is_panic(error: BaseException) -> bool:
    """Whether native code of obstore failed. Its exception has no name to import and is no `Exception`."""
    return type(error).__name__ == "PanicException"
