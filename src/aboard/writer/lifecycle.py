# SPDX-License-Identifier: Apache-2.0
"""What writers do at the end of the interpreter, in the child of a fork, and at the end of a multiprocessing child."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import traceback
import weakref
from typing import Generic, Protocol, TypeVar

from aboard._native import close_all_logs


class Closable(Protocol):
    """What is closed at the end."""

    def close(self) -> object: ...


class Forkable(Protocol):
    """What the child of a fork must not share with its parent."""

    def become_child(self) -> None:
        """Forget what belongs to the parent process."""


_Thing = TypeVar("_Thing")


class _Known(Generic[_Thing]):
    """Objects as long as they live, in the order of their coming. Unlike a WeakSet it can be read while threads add."""

    def __init__(self) -> None:
        self._references: dict[int, weakref.ref[_Thing]] = {}

    def add(self, thing: _Thing) -> None:
        key = id(thing)
        self._references[key] = weakref.ref(thing, lambda _: self._references.pop(key, None))

    def all(self) -> list[_Thing]:
        return [thing for reference in list(self._references.values()) if (thing := reference()) is not None]


_closable: _Known[Closable] = _Known()
_forkable: _Known[Forkable] = _Known()


def close_at_exit(writer: Closable) -> None:
    """Have `writer` closed when the process ends in an orderly way, if it still exists; in order of coming."""
    _closable.add(writer)


def renew_in_child(thing: Forkable) -> None:
    """Have `thing` told in the child of a fork."""
    _forkable.add(thing)


def _close_everything() -> None:
    for writer in _closable.all():
        try:
            writer.close()
        except Exception as error:  # such as a WriteWarning where warnings are errors: the others still close
            traceback.print_exception(error)
    close_all_logs()


class _EndOfChild:
    """What a multiprocessing child does at its end. An object, because multiprocessing's registry is weak."""

    def arrange(self) -> None:
        from multiprocessing.util import Finalize  # only where multiprocessing is in use

        Finalize(None, self._end, exitpriority=100)

    def _end(self) -> None:
        _close_everything()
        # Such a child waits for its threads after this, and then ends without atexit.
        threads = [thread for thread in threading.enumerate() if not thread.daemon and _is_other(thread)]
        if threads:
            threading.Thread(target=self._close_after, args=(threads,), daemon=False).start()

    def _close_after(self, threads: list[threading.Thread]) -> None:
        for thread in threads:
            thread.join()
        _close_everything()


def _is_other(thread: threading.Thread) -> bool:
    return thread is not threading.current_thread() and thread is not threading.main_thread()


_end_of_child = _EndOfChild()


def _arrange_end_of_child() -> None:
    # A multiprocessing child ends without atexit. Its own hooks are cleared after a fork and before its after-fork
    # callbacks run, so only such a callback can arrange for the end.
    if "multiprocessing.util" in sys.modules:
        sys.modules["multiprocessing.util"].register_after_fork(_end_of_child, _EndOfChild.arrange)


def _after_fork_in_child() -> None:
    for thing in _forkable.all():
        thing.become_child()
    _arrange_end_of_child()


atexit.register(_close_everything)
os.register_at_fork(after_in_child=_after_fork_in_child)
# A child of a fork server, or one that is spawned, imports this before or after its callbacks ran.
_arrange_end_of_child()
if "multiprocessing.util" in sys.modules:
    _end_of_child.arrange()
