# SPDX-License-Identifier: Apache-2.0
"""The log of the server: lines for people, or JSON lines for programs, with the id of the request they belong to."""

from __future__ import annotations

import contextvars
import json
import logging
import sys
import traceback
from datetime import UTC, datetime

from aboard.model.times import time_text

REQUEST_ID: contextvars.ContextVar[str] = contextvars.ContextVar("aboard_request_id", default="")


def begin_log(log_format: str) -> None:
    """Have everything that is logged from now on written to stderr, as `text` or `json`."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if log_format == "json" else TextLines())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    logging.getLogger("alembic").setLevel(logging.WARNING)


class JsonLines(logging.Formatter):
    """Log records as one JSON document a line, with the id of the request that they belong to."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": time_text(datetime.fromtimestamp(record.created, UTC)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if request_id := REQUEST_ID.get():
            line["request_id"] = request_id
        line.update(getattr(record, "facts", {}))
        if record.exc_info and record.exc_info[0] is not None:
            line["traceback"] = "".join(traceback.format_exception(*record.exc_info))
        return json.dumps(line, ensure_ascii=True, default=str)


class TextLines(logging.Formatter):
    """Log records for people; the id of the request stands at the end, where there is one.

    A record begins with a time and all its other lines are indented, so that no text in it can pass for a record.
    """

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name in `logging`
        """The first line, without line breaks of the message or its arguments."""
        return super().formatMessage(record).replace("\n", "\\n")

    def format(self, record: logging.LogRecord) -> str:
        text = _printable(super().format(record)).replace("\n", "\n  ")
        request_id = REQUEST_ID.get() or getattr(record, "facts", {}).get("request_id", "")
        return f"{text} [{request_id}]" if request_id else text


def _printable(text: str) -> str:
    """Without characters that could move the cursor of a terminal."""
    return "".join(letter if letter.isprintable() or letter in "\n\t" else f"\\x{ord(letter):02x}" for letter in text)
