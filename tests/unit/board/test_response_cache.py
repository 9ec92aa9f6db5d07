# SPDX-License-Identifier: Apache-2.0
"""Answers are kept until things change, and no more of them than there is room for."""

from aboard.board.responses import ResponseCache


def test_an_answer_is_good_for_one_state_of_things():
    cache = ResponseCache(1000)
    assert cache.find("a", 1) is None
    cache.keep("a", 1, b"x")
    assert cache.find("a", 1) == b"x"
    assert cache.find("a", 2) is None
    cache.keep("a", 2, b"y")
    assert cache.find("a", 2) == b"y"
    assert cache.find("a", 1) is None


def test_what_was_asked_for_longest_ago_goes_first():
    cache = ResponseCache(1000)
    for name in "abcd":
        cache.keep(name, 1, bytes(250))
    assert cache.find("a", 1)
    cache.keep("e", 1, bytes(150))
    assert cache.find("b", 1) is None
    assert all(cache.find(name, 1) for name in "acde")


def test_an_answer_that_would_push_out_all_others_is_not_kept():
    cache = ResponseCache(1000)
    cache.keep("a", 1, bytes(251))
    assert cache.find("a", 1) is None


def test_an_answer_given_anew_takes_the_room_of_the_old_one():
    cache = ResponseCache(1000)
    for stamp in range(100):
        cache.keep("a", stamp, bytes(250))
        cache.keep("b", stamp, bytes(250))
    assert cache.find("a", 99)
    assert cache.find("b", 99)
