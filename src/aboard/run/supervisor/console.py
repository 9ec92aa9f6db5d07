# SPDX-License-Identifier: Apache-2.0
"""Messages of the supervisor on stderr, one line each, beside the output of the command."""

from __future__ import annotations

import logging
import sys


class Console:
    """Messages of the supervisor on stderr; each line begins with `aboard:`."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet

    def say(self, text: str) -> None:
        """How things go; not with `--quiet`."""
        if not self._quiet:
            self.warn(text)

    def warn(self, text: str) -> None:
        try:
            sys.stderr.write(f"aboard: {text}\n")
            sys.stderr.flush()
        except (OSError, ValueError):
            pass  # nobody listens any more, and the run goes on


class ConsoleHandler(logging.Handler):
    """Prints log records of aboard as messages."""

    def __init__(self, console: Console, level: int = logging.INFO) -> None:
        super().__init__(level)
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        text = self.format(record)
        (self._console.warn if record.levelno >= logging.WARNING else self._console.say)(text)
