# SPDX-License-Identifier: Apache-2.0
"""`python -m aboard.run.helper SPOOL`: ships the files of a training that was not started by `aboard run`.

It is a process of its own, outlives the training however that ends, and ends itself when everything is shipped.
"""

from __future__ import annotations

import logging
import signal
import sys
from pathlib import Path

from aboard.errors import AboardError
from aboard.run.supervisor.log_spool import LogSpool, is_log_spool
from aboard.run.supervisor.unattended import UnattendedRun
from aboard.run.supervisor.uploads import spool_locked

_log = logging.getLogger("aboard.run")
FLUSH_SECONDS = 3600.0


def main(arguments: list[str]) -> int:
    """Ship until the training has ended and everything is in the store."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    if len(arguments) != 1:
        _log.error("Name the folder of one run.")
        return 2
    # What ends the training often goes to all processes of a person or a job; the rest is still to be shipped.
    for which in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(which, signal.SIG_IGN)
    folder = Path(arguments[0]).absolute()
    try:
        with spool_locked(folder):
            waiting = LogSpool(folder) if is_log_spool(folder) else UnattendedRun(folder)
            states = waiting.ship_to_the_end(FLUSH_SECONDS)
    except AboardError as error:
        _log.error("%s", error)
        return 1
    _log.info("The end: %s", "; ".join(map(str, states)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
