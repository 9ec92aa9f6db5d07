# SPDX-License-Identifier: Apache-2.0
"""Numbers, times and names as people read them."""

import json
import math

import pytest

from aboard.foundation import text


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (1234, "1.2 kB"),
        (999_949, "999.9 kB"),
        (999_960, "1.0 MB"),
        (5_300_000_000, "5.3 GB"),
        ((1 << 64) - 1, "18.4 EB"),
    ],
)
def test_sizes(count, words):
    assert text.size(count) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (1.5, "1.5 s"),
        (59.0, "59 s"),
        (60, "1 min"),
        (200, "3 min 20 s"),
        (7500, "2 h 5 min"),
        (90_000, "1 d 1 h"),
        (1e9, "11,574 d 1 h"),
    ],
)
def test_durations(seconds, words):
    assert text.duration(seconds) == words


def test_times_that_no_calendar_has():
    assert text.utc_time(0) == "1970-01-01T00:00:00.000000Z"
    assert text.utc_time(1e300) is None
    assert text.utc_time(math.nan) is None
    assert text.local_time(1e300) == "1e+300"
    assert text.local_time(math.inf) == "inf"


def test_names_cannot_steer_a_terminal():
    assert text.plain("runs/ünï 😀") == "runs/ünï 😀"
    assert text.plain("a\x1b[31mb\nc") == "a\\x1b[31mb\\x0ac"
    assert text.plain("right\u202eleft") == "right\\u202eleft"
    assert text.plain(b"caf\xe9".decode("utf-8", "surrogateescape")) == "caf\\xe9"
    assert len(text.quoted("x" * 10_000)) < 130


def test_paths_in_json_are_unicode():
    path = text.unicode_path(b"runs/caf\xe9".decode("utf-8", "surrogateescape"))
    assert json.dumps(path).encode("ascii")
    assert path.encode("utf-8").decode("utf-8") == "runs/caf\ufffd"
