# SPDX-License-Identifier: Apache-2.0
"""Names of which no two are the same."""

from hypothesis import given
from hypothesis import strategies as st

from aboard.model.templates import DistinctNames, NameRequest

SHORT = st.text(alphabet="a_2", max_size=4)
WISHES = st.dictionaries(st.integers(0, 9), st.tuples(SHORT, SHORT).map(lambda pair: NameRequest(*pair)), max_size=10)


def test_names_that_nobody_else_wants_stay_as_they_are():
    assert DistinctNames().give({1: NameRequest("x", "a"), 2: NameRequest("y", "b")}) == {1: "x", 2: "y"}


def test_what_tells_them_apart_is_appended_to_each():
    assert DistinctNames().give({1: NameRequest("x", "a"), 2: NameRequest("x", "b"), 3: NameRequest("y", "c")}) == {
        1: "x_a",
        2: "x_b",
        3: "y",
    }


def test_an_empty_name_is_none():
    assert DistinctNames().give({1: NameRequest("", "a")}) == {1: "a"}


def test_an_appended_part_may_hit_the_name_of_another():
    assert DistinctNames().give({1: NameRequest("x", "a"), 2: NameRequest("x", "b"), 3: NameRequest("x_a", "c")}) == {
        1: "x_a",
        2: "x_b",
        3: "x_a_c",
    }


def test_a_name_that_was_wanted_twice_is_not_given_to_the_one_that_remains():
    names = DistinctNames()
    assert names.give({1: NameRequest("x", "a")}) == {1: "x"}
    assert names.give({1: NameRequest("x", "a"), 2: NameRequest("x", "b")}) == {1: "x_a", 2: "x_b"}
    assert names.give({1: NameRequest("x", "a")}) == {1: "x_a"}


def test_a_name_that_nobody_wants_any_more_is_forgotten():
    names = DistinctNames()
    names.give({1: NameRequest("x", "a"), 2: NameRequest("x", "b")})
    names.give({1: NameRequest("y", "a")})
    assert names.give({1: NameRequest("x", "a")}) == {1: "x"}


@given(st.lists(WISHES, max_size=3))
def test_no_two_are_ever_the_same(sequence):
    names = DistinctNames()
    for wishes in sequence:
        given_names = names.give(wishes)
        assert given_names.keys() == wishes.keys()
        assert len(set(given_names.values())) == len(wishes)


@given(WISHES)
def test_the_order_does_not_matter(wishes):
    backwards = dict(reversed(wishes.items()))
    assert DistinctNames().give(wishes) == DistinctNames().give(backwards)
