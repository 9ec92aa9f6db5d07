# SPDX-License-Identifier: Apache-2.0
"""Runs in a process of its own: a training that logs a point every few milliseconds, each in the file at once.

Started as `python -m viewers.live_writer FOLDER TAG PER_SECOND`; a point's wall time is when it was written.
"""

from __future__ import annotations

import os
import sys
import time
from itertools import count

from aboard._native import EventLog


def main() -> None:
    folder, tag, period = sys.argv[1], sys.argv[2], 1 / float(sys.argv[3])
    log = EventLog(os.fsencode(folder), "benchmark")
    due = time.monotonic()
    for step in count():
        due += period
        time.sleep(max(0.0, due - time.monotonic()))
        log.add_scalar(tag, 0.5, step, time.time())
        log.flush()


if __name__ == "__main__":
    main()
