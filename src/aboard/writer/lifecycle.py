# SPDX-License-Identifier: Apache-2.0
"""What writers do at the end of the interpreter, in the child of a fork, and at the end of a multiprocessing child."""

from __future__ import annotations

import atexit
import os
import sys
import weakref
from typing import Protocol

from aboard._native import close_all_logs


class Closable(Protocol):
    """What is written out and closed at the end."""

    def close(self) -> object: ...


class Forkable(Protocol):
    """What the child of a fork must not share with its parent."""

    def become_child(self) -> None:
        """Forget what belongs to the parent process."""


_closable: weakref.WeakSet[Closable] = weakref.WeakSet()
_forkable: weakref.WeakSet[Forkable] = weakref.WeakSet()


def close_at_exit(writer: Closable) -> None:
    """Have `writer` closed when the process ends in an orderly way, if it still exists then."""
    _closable.add(writer)


def renew_in_child(thing: Forkable) -> None:
    """Have `thing` told in the child of a fork."""
    _forkable.add(thing)


def _close_everything() -> None:
    for writer in list(_closable):
        writer.close()
    close_all_logs()


class _EndOfChild:
    """Anchor for multiprocessing's registry, which holds its objects weakly."""

    def arrange(self) -> None:
        from multiprocessing.util import Finalize

        Finalize(None, _close_everything, exitpriority=100)


_end_of_child = _EndOfChild()


def _after_fork_in_child() -> None:
    for thing in list(_forkable):
        thing.become_child()
    # A multiprocessing child ends without atexit. Its own hooks are cleared after this point and before its
    # after-fork callbacks run, so only such a callback can arrange for the end.
    if "multiprocessing.util" in sys.modules:
        sys.modules["multiprocessing.util"].register_after_fork(_end_of_child, _EndOfChild.arrange)


atexit.register(_close_everything)
os.register_at_fork(after_in_child=_after_fork_in_child)
