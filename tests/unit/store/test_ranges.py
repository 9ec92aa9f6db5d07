# SPDX-License-Identifier: Apache-2.0
"""Merging ranges never loses a byte, and never fetches a larger hole than allowed."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from aboard.store.store import ByteRange, cut_ranges, merge_ranges

DATA = bytes(range(256))
RANGES = st.lists(st.tuples(st.integers(0, 300), st.integers(0, 60)).map(lambda one: ByteRange(one[0], sum(one))))


@given(RANGES, st.integers(0, 40))
def test_cutting_what_was_merged_gives_what_was_asked(wanted, gap):
    fetched = merge_ranges(wanted, gap)
    content = [DATA[one.start : one.end] for one in fetched]
    assert cut_ranges(wanted, fetched, content) == [DATA[one.start : one.end] for one in wanted]


@given(RANGES, st.integers(0, 40))
def test_merged_ranges_are_apart_and_without_needless_holes(wanted, gap):
    fetched = merge_ranges(wanted, gap)
    assert all(later.start - earlier.end > gap for earlier, later in itertools.pairwise(fetched))
    asked = {byte for one in wanted for byte in range(*one)}
    for one in fetched:
        holes = "".join("x" if byte in asked else "." for byte in range(*one)).split("x")
        assert max(map(len, holes)) <= gap
