# SPDX-License-Identifier: Apache-2.0
"""A million tags in one run, and twenty thousand runs, on one board."""

from support.large_boards import check_many_runs, check_many_tags

GB = 1 << 30


def test_a_million_tags(tmp_path):
    check_many_tags(tmp_path, 1_000_000, most_bytes=1 * GB, within=300)


def test_twenty_thousand_runs(tmp_path):
    check_many_runs(tmp_path, 20_000, most_bytes=1 * GB, within=300)
