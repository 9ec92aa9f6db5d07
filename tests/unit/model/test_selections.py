# SPDX-License-Identifier: Apache-2.0
import contextlib
from datetime import timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aboard.errors import InvalidValue, QueryError
from aboard.model.selections import (
    MOST_NAMES,
    MOST_PATTERNS,
    MOST_WORDS,
    ExactName,
    LogLocation,
    NamePattern,
    NumberKind,
    NumberRange,
    Selection,
    hint_for_nothing,
    parse_selection,
    parse_word,
)
from support.cases import all_cases

RUN, EXPERIMENT = NumberKind.RUN, NumberKind.EXPERIMENT


def run(number, workspace=""):
    return NumberRange(RUN, number, number, workspace)


def experiment(number, workspace=""):
    return NumberRange(EXPERIMENT, number, number, workspace)


@all_cases(
    ("word", "entry"),
    [
        ("run343", run(343)),
        ("RUN343", run(343)),
        ("343", run(343)),
        ("ws1/run343", run(343, "ws1")),
        ("WS1\\run343", run(343, "ws1")),
        ("exp7", experiment(7)),
        ("job7", experiment(7)),
        ("run10-run20", NumberRange(RUN, 10, 20)),
        ("run10 - 20", NumberRange(RUN, 10, 20)),
        ("10-20", NumberRange(RUN, 10, 20)),
        ("curious/run1-run2", NumberRange(RUN, 1, 2, "curious")),
        ("job3-exp5", NumberRange(EXPERIMENT, 3, 5)),
        ("run5-run5", run(5)),
        ("ws1/run*", NamePattern("run*", "ws1")),
        ("Base**-?", NamePattern("base*-?")),
        ("run302.*", NamePattern("run302.*")),
        ("base10-base20", ExactName("base10-base20")),
        ("run007", ExactName("run007")),
        ("run9999999999999999999", ExactName("run9999999999999999999")),
        ("Lab/try 3", ExactName("try 3", "lab")),
        ("01arz3ndektsv4rrffq69g5fav", ExactName("01ARZ3NDEKTSV4RRFFQ69G5FAV")),
        ("name:run343", ExactName("run343")),
        ("NAME: job2300", ExactName("job2300")),
        ("ws1/name:run3", ExactName("run3", "ws1")),
        ("name:10-20", ExactName("10-20")),
        ("name:name:x", ExactName("name:x")),
        ("name:base", ExactName("base")),
        ("name:~x", ExactName("~x")),
        ("name:-", ExactName("-")),
        ("/logs/../logs/mine/", LogLocation("/logs/mine")),
        ("logs/", LogLocation("./logs")),
        ("./logs", LogLocation("./logs")),
        ("../x/y", LogLocation("../x/y")),
        (".", LogLocation(".")),
        ("~/logs", LogLocation("~/logs")),
        ("./a /b/..", LogLocation("./a")),
        ("/", LogLocation("/")),
        (".\\logs", LogLocation("./logs")),
        ("S3://Bucket/path/", LogLocation("s3://Bucket/path")),
        ("oss://bucket/path/", LogLocation("oss://bucket/path")),
    ],
)
def test_each_kind_of_word_means_one_thing_and_is_written_in_one_way(word, entry):
    assert parse_word(word) == entry
    assert parse_word(str(entry)) == entry


@all_cases(
    ("words", "problem"),
    [
        (["run20-run10"], "ends before it begins.*\n.*run10-run20"),
        (["run1-exp2"], "both ends of a range are of one kind: run is not exp"),
        (["run1", "-", "run3"], "'-' names no run"),
        (["logs/exp1/run2"], "(?s)neither a run nor a folder.*./logs/exp1/run2"),
        (["ws*/run1-run9"], "(?s)is a range.*write run10-run20 alone"),
        ([". /x"], "neither a run nor a folder"),
        (["*a" * 9], r"at most 8 \*"),
        (["name:"], "does not have a name after `name:`"),
        (["name:run3*"], "(?s)does not have a name after `name:`.*ws1/base\\* for a pattern"),
        (["ws*/name:run3"], "does not have a name after `name:`"),
        (["name:ws1/run3"], "(?s)`name:` before the workspace.*Write ws1/name:run3"),
        ([], "no run is named"),
        ([" , ", ","], "no run is named"),
        (["x"] * (MOST_WORDS + 1), "too many"),
        ([f"a{n}*" for n in range(MOST_PATTERNS + 1)], "(?s)at most 1,000 patterns.*has 1,001.*hint: Use a filter"),
        ([f"run1-run{n}" for n in range(2, MOST_PATTERNS + 3)], "at most 1,000 patterns, ranges"),
        ([f"/logs/{n}" for n in range(MOST_PATTERNS + 1)], "at most 1,000 patterns, ranges and folders"),
        ([f"a{n}" for n in range(MOST_NAMES)] + ["exp1"], "at most 10,000 names and experiments.*has 10,001"),
    ],
)
def test_mistakes_say_what_to_write(words, problem):
    with pytest.raises(InvalidValue, match=problem):
        parse_selection(words)


def test_many_runs_can_be_named_by_number():
    words = [f"run{n}" for n in range(1, MOST_WORDS - MOST_PATTERNS + 1)] + [f"a{n}*" for n in range(MOST_PATTERNS)]
    assert len(parse_selection(words).entries) == MOST_WORDS
    assert parse_selection(["a*"] * (MOST_PATTERNS + 1)).words == ("a*",)


def test_a_range_that_selects_nothing_is_told_from_names():
    assert "name:run341 or a pattern as run341*" in hint_for_nothing("run341-run343")
    assert "runs list" in hint_for_nothing("run34*")


def test_lists_are_read_as_a_shell_passes_them():
    wanted = (run(310), run(341), run(400))
    for words in (["run310,", "run341,", "run400"], ["run310,run341,run400"], ["run310 , run341", "run400,", "310"]):
        assert parse_selection(words).entries == wanted


def test_what_is_left_out_is_filled_in():
    with pytest.raises(InvalidValue, match="not a name for a workspace"):
        parse_selection(["base"], workspace="../x")
    words = ["7", "run8", "base", "b*", "other/c"]
    assert parse_selection(words, workspace="Lab", numbers=EXPERIMENT).words == (
        *("exp7", "run8", "lab/base", "lab/b*", "other/c"),
    )
    assert parse_selection([], workspace="Lab").words == ("lab/*",)
    assert parse_selection([], "run == 1").words == ()


def test_the_same_selection_has_the_same_key_however_it_is_typed():
    one = parse_selection(["run2,RUN1", "job3"], "hparams.lr<.5  and  'x' in tags")
    other = parse_selection(["exp3", "1", "run2-run2", "1"], '(hparams.lr < 0.5) and tags."x" is not none')
    assert one.key == other.key
    assert one.key != parse_selection(["run2", "run1"], one.where).key
    assert one.key != parse_selection(one.words).key


def test_times_in_a_filter_mean_the_same_in_every_zone_once_they_were_read():
    tokyo = timezone(timedelta(hours=9))
    kept = parse_selection([], "created > '2026-11-01 18:00' and ended < now - 7d", zone=tokyo)
    assert kept.where == 'created > "2026-11-01T09:00:00.000000Z" and ended < now - 604800.0s'
    assert parse_selection([], kept.where, zone=timezone(timedelta(hours=-5))) == kept


def test_a_mistake_in_the_filter_points_at_the_place_that_was_typed():
    with pytest.raises(QueryError) as caught:
        parse_selection(["run1"], "hparam.lr <")
    assert caught.value.start == len("hparam.lr <")
    with pytest.raises(InvalidValue, match="shorten it"):
        parse_selection([], " and ".join(["created == '2026-11-01'"] * 100))


@pytest.mark.parametrize(
    ("words", "where", "live"),
    [
        (["run1", "ws/run2"], "", False),
        (["run1", "exp2"], "", True),
        (["run1-run3"], "", True),
        (["a*"], "", True),
        (["s3://bucket/runs"], "", True),
        ([], "run == 1", True),
    ],
)
def test_experiments_patterns_and_filters_grow_and_lists_do_not(words, where, live):
    assert parse_selection(words, where).is_live is live


_WORKSPACES = st.one_of(st.just(""), st.from_regex(r"[a-z0-9][a-z0-9_.-]{0,9}", fullmatch=True))
_COUNTS = st.integers(1, 10**18 - 1)
_TEXTS = st.text(st.characters(exclude_characters=",/\\*?", exclude_categories=("C", "Z")), min_size=1, max_size=20)
_ENTRIES = st.one_of(
    st.builds(
        lambda kind, ends, workspace: NumberRange(kind, min(ends), max(ends), workspace),
        *(st.sampled_from(NumberKind), st.tuples(_COUNTS, _COUNTS), _WORKSPACES),
    ),
    st.builds(lambda text, workspace: parse_word(f"x{text}x", workspace=workspace), _TEXTS, _WORKSPACES),
    st.builds(lambda text, workspace: parse_word(f"name:{text}", workspace=workspace), _TEXTS, _WORKSPACES),
    st.builds(
        lambda text, mark, workspace: parse_word(f"x{text}{mark}", workspace=workspace),
        _TEXTS,
        st.sampled_from("*?"),
        _WORKSPACES,
    ),
    st.builds(lambda text: parse_word(f"/{text}"), _TEXTS),
    st.builds(lambda text: parse_word(f"gs://bucket/{text}"), _TEXTS),
)


@given(st.lists(_ENTRIES, min_size=1, max_size=6, unique=True))
def test_what_a_selection_writes_is_read_as_the_same_selection(entries):
    selection = Selection().with_entries(entries)
    assert parse_selection(selection.words) == selection
    assert parse_selection([", ".join(selection.words)]).key == selection.key


@given(st.lists(st.text(max_size=12), max_size=4), st.sampled_from(["", "ws1"]))
def test_nothing_that_is_typed_does_more_than_tell_of_a_mistake(words, workspace):
    selection = None
    with contextlib.suppress(InvalidValue):
        selection = parse_selection(words, workspace=workspace)
    assert selection is None or parse_selection(selection.words) == selection
