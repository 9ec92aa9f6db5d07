# SPDX-License-Identifier: Apache-2.0
"""A line on the terminal that tells how far something has come, once it takes longer than a moment."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Generator

_FIRST_AFTER = 1.0
_EVERY = 0.5
_WIDTH = 78


@contextlib.contextmanager
def progress_line(line: Callable[[], str]) -> Generator[None]:
    """Show `line()` again and again while the block runs, on a terminal only; then remove it."""
    if not sys.stderr.isatty():
        yield
        return
    ended = threading.Event()
    thread = threading.Thread(target=_show, args=(line, ended), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _show(line: Callable[[], str], ended: threading.Event) -> None:
    shown = False
    wait = _FIRST_AFTER
    while not ended.wait(wait):
        sys.stderr.write(line()[:_WIDTH].ljust(_WIDTH) + "\r")
        sys.stderr.flush()
        shown, wait = True, _EVERY
    if shown:
        sys.stderr.write(" " * _WIDTH + "\r")
        sys.stderr.flush()
