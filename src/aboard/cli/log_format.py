# SPDX-License-Identifier: Apache-2.0
"""Formats of a server's log, as an option takes them."""

from __future__ import annotations

from enum import StrEnum


class LogFormat(StrEnum):
    """How lines are written."""

    TEXT = "text"
    JSON = "json"
