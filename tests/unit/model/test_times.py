# SPDX-License-Identifier: Apache-2.0
"""Spans of time as people write them."""

from datetime import timedelta

import pytest

from aboard.errors import InvalidValue
from aboard.model.times import duration_text, parse_duration
from support.cases import all_cases


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        ("30s", 30),
        ("1h", 3600),
        ("1m30s", 90),
        ("2d", 172800),
        ("1 h 5 m", 3900),
        ("90", 90),
        (1.5, 1.5),
        ("250ms", 0.25),
    ],
)
def test_what_is_understood(given, seconds):
    assert parse_duration(given, "it") == timedelta(seconds=seconds)


@all_cases("given", ["", "soon", "1x", "-1s", 0, "0s", True, None, float("nan"), float("inf"), "9" * 40, []])
def test_what_is_not(given):
    with pytest.raises(InvalidValue, match=r"idle_timeout is .*which is no length of time"):
        parse_duration(given, "idle_timeout")


def test_it_is_written_as_it_is_read():
    for text in ("1s", "1m30s", "2h", "1d1h1m1.5s"):
        assert duration_text(parse_duration(text, "it")) == text
