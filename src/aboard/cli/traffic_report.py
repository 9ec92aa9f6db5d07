# SPDX-License-Identifier: Apache-2.0
"""What reading from stores costs: requests and bytes, in words."""

from __future__ import annotations

import sys
import time

from aboard.cli.saying import say
from aboard.reader.collection import RunCollection

_EVERY = 10.0
_UNITS = ("bytes", "KB", "MB", "GB", "TB")


def traffic_lines(collection: RunCollection) -> list[str]:
    """A line for each store."""
    lines: list[str] = []
    for uri, count in collection.traffic.items():
        kinds = ", ".join(f"{number:,} {kind}" for kind, number in count.requests.items()) or "none"
        lines.append(f"{uri}: {count.total_requests:,} requests ({kinds}), {_size(count.bytes_in)} read")
    return lines


def say_traffic(collection: RunCollection) -> None:
    """Tell it now."""
    for line in traffic_lines(collection):
        say(line, sys.stderr)


def report_traffic(collection: RunCollection) -> None:
    """Tell it when all was read once, and from then on whenever it changed."""
    while not collection.progress.cycles:
        time.sleep(0.1)
    told: list[str] = []
    while True:
        lines = traffic_lines(collection)
        if lines != told:
            told = lines
            for line in lines:
                say(line, sys.stderr)
        time.sleep(_EVERY)


def _size(number: int) -> str:
    value, unit = float(number), 0
    while value >= 1000 and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"{value:.{1 if unit else 0}f} {_UNITS[unit]}"
