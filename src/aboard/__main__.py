# SPDX-License-Identifier: Apache-2.0
"""The command `aboard`, also as `python -m aboard`: what must work before the rest of the package is imported."""

from __future__ import annotations

import signal
import sys


def main() -> None:
    """Import the commands and run one. Neither Ctrl-C nor a missing package ends with a traceback."""
    try:
        _run()
    except ModuleNotFoundError as error:
        package = (error.name or "aboard").partition(".")[0]
        if package == "aboard":
            raise
        lines = (
            f"error: The Python package {package!r} is not installed, and aboard needs it.",
            f"  hint: Run `{sys.executable} -m pip check` to list the packages that are missing.",
        )
        sys.exit("\n".join(lines))


def _run() -> None:
    # Imports take most of the first second, and have nothing to clean up: there, Ctrl-C ends the process at once.
    is_usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_usual:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from aboard.cli import main as run_command

    if is_usual:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run_command()


if __name__ == "__main__":
    main()
