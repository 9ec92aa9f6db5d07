# SPDX-License-Identifier: Apache-2.0
"""Progress appears on the error stream when something takes long, and only then."""

import io
import sys
import time

import pytest

from aboard.cli import progress_line
from aboard.cli.progress_line import ProgressLine, words_of
from aboard.exchange.inspecting import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(monkeypatch, stream, *, long):
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress_line, "_FIRST_AFTER", 0.001 if long else 60)
    with ProgressLine(Progress("checked", files=7, files_done=3, bytes_done=1200)):
        deadline = time.monotonic() + 20
        while long and not stream.getvalue() and time.monotonic() < deadline:
            time.sleep(0.001)
    return stream.getvalue()


def test_what_is_quick_says_nothing(monkeypatch):
    assert shown(monkeypatch, Terminal(), long=False) == ""


def test_a_terminal_gets_one_line_that_vanishes(monkeypatch):
    text = shown(monkeypatch, Terminal(), long=True)
    assert text.startswith("\rchecked 3 of 7 files, 1.2 kB ")
    assert text.endswith("\r" + " " * 78 + "\r")
    assert "\n" not in text


def test_a_log_file_gets_lines(monkeypatch):
    assert shown(monkeypatch, io.StringIO(), long=True) == "checked 3 of 7 files, 1.2 kB\n"


@pytest.mark.parametrize(
    ("progress", "words"),
    [
        (Progress(), "looking for event files"),
        (Progress(files_done=1234), "looking for event files: 1,234 found"),
        (Progress("copied", files=10), "copied 0 of 10 files"),
    ],
)
def test_words(progress, words):
    assert words_of(progress) == words
