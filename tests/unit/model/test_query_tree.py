# SPDX-License-Identifier: Apache-2.0
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aboard.model.query.parser import parse_query
from aboard.model.query.tree import FieldComparison, HparamField, IsNone, MetricField, Operator, TagField, query_text
from support.cases import all_cases

CONDITIONS = [
    *("hparams.lr < .01", "0.001 < hparams.lr <= 1e-05", "hparams.x != true", "hparams.flag", "hparams.n == -inf"),
    *('hparams."a b".c == "say \\"hi\\" \\\\"', "hparams.x is not nan", "hparams.x is nan", "hparams.x != nan"),
    *('status in ["running", "failed"]', "run not in [1, 2]", "experiment == 7", "bytes > 2GiB", "duration >= 1.5h"),
    *(
        'name like "a\\%b_%"',
        'name not ilike "x%"',
        "'x' in note",
        "'x' not in note",
        "name = 'it`s'",
        'user == "a\nb"',
    ),
    *("tags.x", "'a b' in tags", "tags not contains 'y'", 'tags."" != "v"', "ended is none", "ended is not none"),
    *("metrics.val/loss.min < 0.2", 'metrics."x.min" > 1', "metrics.loss > 3", "metrics.loss.step == 10"),
    *(
        "created == '2026-11-01'",
        "created != '2026-11-01'",
        "created > now - 7d",
        "ended < now + 0.25s",
        "ended <= now",
    ),
    *("created == '2026-11-01T12:30:00.5+02:00'",),
]
_FILTERS = st.recursive(
    st.sampled_from(CONDITIONS),
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map(" and ".join),
        st.lists(inner, min_size=2, max_size=3).map(" or ".join),
        inner.map("({})".format),
        inner.map("not {}".format),
        inner.map("not ({})".format),
    ),
    max_leaves=8,
)


@all_cases("text", CONDITIONS)
def test_each_condition_is_written_as_it_is_read(text):
    assert parse_query(query_text(parse_query(text))) == parse_query(text)


@given(_FILTERS)
def test_a_filter_is_written_so_that_it_is_read_as_the_same_tree(text):
    tree = parse_query(text)
    written = query_text(tree)
    assert parse_query(written) == tree
    assert query_text(parse_query(written)) == written


@given(st.text(max_size=20), st.sampled_from([HparamField, MetricField, TagField]))
def test_any_name_can_be_written(text, kind):
    tree = IsNone(kind(text))
    assert parse_query(query_text(tree)) == tree


@given(st.text(max_size=20))
def test_any_text_can_be_written(text):
    tree = FieldComparison(HparamField("x"), Operator.EQUAL, text)
    assert parse_query(query_text(tree)) == tree


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("(hparams.lr<.5)and(run=3)", "hparams.lr < 0.5 and number == 3"),
        ("user != 'x' or not (host = 'y' and user = 'z')", 'user != "x" or not (host == "y" and user == "z")'),
    ],
)
def test_a_filter_has_one_short_spelling(text, written):
    assert query_text(parse_query(text)) == written
