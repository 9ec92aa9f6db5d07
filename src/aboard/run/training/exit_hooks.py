# SPDX-License-Identifier: Apache-2.0
"""Hooks that record how a training ends: by itself, an exception, `sys.exit` or a signal. None is swallowed."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Protocol

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_begun: list[ExitHooks] = []
"""Those of runs that go on. Trials of a search overlap: one that is over must not stay between two others."""


class ExitListener(Protocol):
    """Receives how the process ends."""

    def ended_by_exception(self, error: BaseException) -> None: ...
    def signalled(self, name: str) -> None: ...
    def process_ends(self, exit_code: object) -> None: ...


class ExitHooks:
    """Hooks of one run, taken away when it is over. Other hooks, earlier or later ones, go on working."""

    def __init__(self, run: ExitListener) -> None:
        self._run = run
        self._pid = os.getpid()
        self._is_over = False
        self._exit_code: object = None
        self._earlier: dict[signal.Signals, Any] = {}
        self._excepthook = sys.excepthook
        sys.excepthook = self._on_exception
        self._sys_exit = sys.exit
        sys.exit = self._on_sys_exit
        atexit.register(self._on_exit)
        _begun.append(self)
        if threading.current_thread() is threading.main_thread():
            self._take_signals()

    def remove(self) -> None:
        """Take the hooks away where nobody else has put others on top."""
        self._is_over = True
        atexit.unregister(self._on_exit)
        if self in _begun:
            _begun.remove(self)
        for above in _begun:
            above.let_go_of(self)
        if sys.excepthook == self._on_exception:
            sys.excepthook = self._excepthook
        if sys.exit == self._on_sys_exit:
            sys.exit = self._sys_exit
        if threading.current_thread() is threading.main_thread():
            for number, earlier in self._earlier.items():
                if signal.getsignal(number) == self._on_signal:
                    signal.signal(number, earlier)

    def let_go_of(self, other: ExitHooks) -> None:
        """Pass on to what was there before another run, which is over."""
        if self._excepthook == other._on_exception:
            self._excepthook = other._excepthook
        if self._sys_exit == other._on_sys_exit:
            self._sys_exit = other._sys_exit
        for number, earlier in self._earlier.items():
            if earlier == other._on_signal:
                self._earlier[number] = other._earlier[number]

    @property
    def is_over(self) -> bool:
        return self._is_over

    def before(self, number: signal.Signals) -> Any:
        return self._earlier[number]

    def _take_signals(self) -> None:
        for number in _SIGNALS:
            earlier = _of_the_living(number)
            # An ignored signal ends nothing; None is a handler that is not Python's and cannot be called from here.
            if earlier not in {signal.SIG_IGN, None}:
                self._earlier[number] = earlier
                signal.signal(number, self._on_signal)

    @property
    def _is_ours(self) -> bool:
        return not self._is_over and os.getpid() == self._pid

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        which = signal.Signals(number)
        if self._is_ours:
            self._run.signalled(which.name)
        earlier: Callable[..., object] | signal.Handlers = self._earlier[which]
        if callable(earlier):
            earlier(number, frame)
            return
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    def _on_exception(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if self._is_ours:
            self._run.ended_by_exception(error)
        self._excepthook(kind, error, trace)

    def _on_sys_exit(self, status: Any = None, /) -> Any:
        self._exit_code = status
        self._sys_exit(status)

    def _on_exit(self) -> None:
        if self._is_ours:
            self._run.process_ends(self._exit_code)


def _of_the_living(number: signal.Signals) -> Any:
    """The handler of a signal; that of a run that is over, left by another thread, stands for what was before it."""
    handler: Any = signal.getsignal(number)
    while isinstance(ending := getattr(handler, "__self__", None), ExitHooks) and ending.is_over:
        handler = ending.before(number)
    return handler
