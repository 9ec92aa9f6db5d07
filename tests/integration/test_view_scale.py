# SPDX-License-Identifier: Apache-2.0
"""Very many tags and very many runs; `tests/soak` has ten times as many."""

from support.large_boards import check_many_runs, check_many_tags

MB = 1 << 20


def test_a_hundred_thousand_tags(tmp_path):
    check_many_tags(tmp_path, 100_000, most_bytes=400 * MB, within=60)


def test_two_thousand_runs(tmp_path):
    check_many_runs(tmp_path, 2_000, most_bytes=400 * MB, within=60)
