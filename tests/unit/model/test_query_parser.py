# SPDX-License-Identifier: Apache-2.0
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aboard.errors import QueryError
from aboard.model.query.fields import COLUMNS, parse_sort
from aboard.model.query.parser import LONGEST_QUERY, parse_query
from aboard.model.query.tree import (
    Among,
    And,
    ColumnField,
    FieldComparison,
    HparamField,
    IsNan,
    IsNone,
    MetricField,
    MetricPart,
    Not,
    Operator,
    Or,
    Pattern,
    TagField,
    TextMatch,
    TimeValue,
)
from support.cases import all_cases

LR, EQ, LT, GT, LE = HparamField("lr"), Operator.EQUAL, Operator.LESS, Operator.GREATER, Operator.LESS_OR_EQUAL


def column(name):
    return ColumnField(name, COLUMNS[name])


def other(condition):
    return And((Not(IsNone(condition.field)), Not(condition)))


STATUS = FieldComparison(column("status"), EQ, "running")
LOW = FieldComparison(LR, LT, 0.01)


@all_cases(
    ("text", "tree"),
    [
        ("hparams.lr < 0.01", LOW),
        (
            'hparams.lr < 0.01 and status == "running" and metrics.val_loss.min < 0.2',
            And((LOW, STATUS, FieldComparison(MetricField("val_loss", MetricPart.MIN), LT, 0.2))),
        ),
        ('STATUS = "RUNNING"', STATUS),
        ("not hparams.lr < 0.01 and hparams.lr < 0.01", And((Not(LOW), LOW))),
        ("hparams.lr < 0.01 or hparams.lr < 0.01 AND hparams.lr < 0.01", Or((LOW, And((LOW, LOW))))),
        ("(hparams.lr < 0.01 or hparams.lr < 0.01) and hparams.lr < 0.01", And((Or((LOW, LOW)), LOW))),
        ("hparams.lr != 0.01", other(FieldComparison(LR, EQ, 0.01))),
        ("hparams.lr <> 0.01", other(FieldComparison(LR, EQ, 0.01))),
        ("0.01 > hparams.lr", LOW),
        ("1e-3 < hparams.lr <= 0.1", And((FieldComparison(LR, GT, 0.001), FieldComparison(LR, LE, 0.1)))),
        (
            "hparams.lr == -5 or hparams.lr == -inf",
            Or((FieldComparison(LR, EQ, -5), FieldComparison(LR, EQ, float("-inf")))),
        ),
        ("hparams.amp", FieldComparison(HparamField("amp"), EQ, True)),
        ("hparams.amp == false", FieldComparison(HparamField("amp"), EQ, False)),
        ('hparams."a b".c == 1', FieldComparison(HparamField("a b.c"), EQ, 1)),
        ("hparams.`a b` == 1", FieldComparison(HparamField("a b"), EQ, 1)),
        ("params.layer.0.size == 1", FieldComparison(HparamField("layer.0.size"), EQ, 1)),
        ("run.hparams.lr < 0.01", LOW),
        ('attributes.status == "running"', STATUS),
        ("metrics.loss < 1", FieldComparison(MetricField("loss"), LT, 1)),
        ("metrics.val/loss.max < 1", FieldComparison(MetricField("val/loss", MetricPart.MAX), LT, 1)),
        ('metrics."val loss".last < 1', FieldComparison(MetricField("val loss"), LT, 1)),
        ('metrics.x."min" < 1', FieldComparison(MetricField("x.min"), LT, 1)),
        ("metrics.min < 1", FieldComparison(MetricField("min"), LT, 1)),
        ("metrics.a.b.min_step < 1", FieldComparison(MetricField("a.b", MetricPart.MIN_STEP), LT, 1)),
        ("metrics.loss is nan", IsNan(MetricField("loss"))),
        ("metrics.loss == nan", IsNan(MetricField("loss"))),
        ("metrics.loss is not nan", other(IsNan(MetricField("loss")))),
        ("ended is none", IsNone(column("ended"))),
        ("ended is not null", Not(IsNone(column("ended")))),
        ("ended != none", Not(IsNone(column("ended")))),
        ('"x" in tags', Not(IsNone(TagField("x")))),
        ('"x" not in tags', IsNone(TagField("x"))),
        ('tags contains "x"', Not(IsNone(TagField("x")))),
        ("tags.x", Not(IsNone(TagField("x")))),
        ('tags.x == "y"', FieldComparison(TagField("x"), EQ, "y")),
        ('user in ["ann", "bob"]', Among(column("user"), ("ann", "bob"))),
        ('user not in ("ann")', other(Among(column("user"), ("ann",)))),
        ("experiment in [7, 8]", Among(column("experiment_number"), (7, 8))),
        ("run == 343", FieldComparison(column("number"), EQ, 343)),
        ('name like "base\\\\_%"', TextMatch(column("name"), Pattern.LIKE, "base\\_%")),
        ('name not contains "x"', other(TextMatch(column("name"), Pattern.CONTAINS, "x"))),
        ("'x' in note", TextMatch(column("note"), Pattern.CONTAINS, "x")),
        ("created > now - 7d", FieldComparison(column("created"), GT, TimeValue(offset=timedelta(days=-7)))),
        ("created < now", FieldComparison(column("created"), LT, TimeValue())),
        ("duration > 1.5h", FieldComparison(column("duration"), GT, 5400.0)),
        ("bytes > 2GiB", FieldComparison(column("bytes"), GT, 2 * 2**30)),
        (
            'created > "2026-11-01"',
            FieldComparison(column("created"), GT, TimeValue(datetime(2026, 11, 1, tzinfo=UTC))),
        ),
        (
            'created == "2026-11-01"',
            And(
                (
                    FieldComparison(
                        column("created"), Operator.GREATER_OR_EQUAL, TimeValue(datetime(2026, 11, 1, tzinfo=UTC))
                    ),
                    FieldComparison(column("created"), LT, TimeValue(datetime(2026, 11, 2, tzinfo=UTC))),
                )
            ),
        ),
        (r'name == "a\"b\\c\n"', FieldComparison(column("name"), EQ, 'a"b\\c\n')),
    ],
)
def test_filters(text, tree):
    assert parse_query(text) == tree


def named(text):
    return TextMatch(column("name"), Pattern.ILIKE, f"%{text}%")


@all_cases(
    ("text", "tree"),
    [
        ("cifar-adamw", named("cifar-adamw")),
        ("  resnet50 ", named("resnet50")),
        ("cifar AdamW 2026-11-01", And((named("cifar"), named("AdamW"), named("2026-11-01")))),
        ("run#3 a/b:c@d *.best", And((named("run#3"), named("a/b:c@d"), named("*.best")))),
        ("50% a_b", And((named(r"50\%"), named(r"a\_b")))),
        ("v1.2-rc", named("v1.2-rc")),
        ("or-tools", named("or-tools")),
        ("343", named("343")),
        ("50-epochs", named("50-epochs")),
        ("trial", named("trial")),
        ("user study", And((named("user"), named("study")))),
        ('"status"', named("status")),
        ("'two words' adam", And((named("two words"), named("adam")))),
        ("adam or sgd", Or((named("adam"), named("sgd")))),
        ("not adam", Not(named("adam"))),
        ("(adam or sgd) and hparams.lr < 0.01", And((Or((named("adam"), named("sgd"))), LOW))),
        ("hparams.lr < 0.01 and big adam", And((LOW, And((named("big"), named("adam")))))),
    ],
)
def test_plain_words_are_searched_for_in_names(text, tree):
    assert parse_query(text) == tree


def test_filters_that_delete_take_no_plain_word():
    with pytest.raises(QueryError, match="A plain word is not allowed in this filter") as caught:
        parse_query("failed", words=False)
    assert 'name ilike "%failed%"' in caught.value.hint
    assert parse_query('name ilike "%failed%"', words=False) == parse_query("failed")


def test_times_without_an_offset_are_in_the_given_zone():
    zone = timezone(timedelta(hours=2))
    expected = TimeValue(datetime(2026, 10, 31, 22, tzinfo=UTC))
    assert parse_query('created > "2026-11-01"', zone=zone) == FieldComparison(column("created"), GT, expected)
    assert parse_query('created > "2026-10-31T22:00Z"', zone=zone) == FieldComparison(column("created"), GT, expected)


@all_cases(
    ("text", "marked", "problem", "hint"),
    [
        ('stats == "x"', "stats", "there is no field 'stats'", "did you mean status?"),
        ("metric_s.loss < 1", "metric_s.loss", "there is no field", "did you mean metrics.loss?"),
        ("lr < 1", "lr", "there is no field 'lr'", "is it hparams.lr or metrics.lr?"),
        ('status == "runing"', '"runing"', "no run has this status", 'did you mean "running"?'),
        ("status == running", "running", "expected a value", 'texts stand in quotes: "running"'),
        ("hparams.a < hparams.b", "hparams.b", "expected a value", "fields are compared with values"),
        ("status", "", "expected a comparison after status; here the filter ends", "as in"),
        ("status", "", "expected a comparison after status", 'in quotes: "status"'),
        ("my-lr < 1", "my-lr", "there is no field 'my-lr'", "is it hparams.my-lr or metrics.my-lr?"),
        ("name == cifar-adamw", "cifar-adamw", "expected a value", 'texts stand in quotes: "cifar-adamw"'),
        ("hparams.amp adam", "adam", "expected `and`, `or` or the end", ""),
        ("hparams.lr >", "", "expected a value; here the filter ends", ""),
        ("hparams.lr > 1 status", "status", "expected `and`, `or` or the end; here stands status", ""),
        ("(hparams.lr > 1", "(", "this bracket is never closed", "add )"),
        ("hparams.lr > 1)", ")", "expected `and`, `or` or the end; here stands )", ""),
        ('name == "x', '"x', "these quotes are never closed", 'add " at the end'),
        ('name ~ "x"', "~", "'~' cannot stand here", "regular expressions are not part"),
        ("hparams.a > 1 && hparams.b > 1", "&", "'&' cannot stand here", "write `and`"),
        ("hparams. > 1", ".", "after the dot a name is missing", "metrics.val_loss.min"),
        ("hparams > 1", "hparams", "alone is not a field", "hparams.NAME"),
        ("status.x > 1", "status.x", "has nothing below it", "write status"),
        ("tags == 1", "tags", "all tags together cannot be compared", '"x" in tags'),
        ("created > 5", "5", "created is compared with times", "2026-11-01"),
        ('created > "soon"', '"soon"', "created is compared with times", "now - 7d"),
        ("created > now - 7", "- 7", "a span of time is missing", "now - 7d"),
        ("created > now - 7y", "y", "'y' is not a unit", "s m h d w"),
        ('duration > "x"', '"x"', "duration is compared with numbers", "without quotes"),
        ("hparams.lr > 3d", "3d", "hparams.lr has no such unit", "duration"),
        ("name == 1.5", "1.5", "name is compared with texts", "quotes"),
        ("hparams.amp < true", "true", "neither smaller nor larger", "use =="),
        ("name is nan", "name", "name is never nan", "is none"),
        ("metrics.loss < nan", "<", "nothing is < nan", "is nan"),
        ("hparams.x in [1, none]", "none", "cannot stand in a list", "is none"),
        ("hparams.x in [1 2]", "2", "expected , or ]", ""),
        ("hparams.x in 3", "3", "expected a list", ""),
        ("metrics.loss like '1%'", "metrics.loss", "is not a text", "use =="),
        (r"name like 'a\\'", r"'a\\'", "cannot end with a backslash", "two for one"),
        (f"name like '{'%a' * 9}'", f"'{'%a' * 9}'", "at most 8 %", "several conditions"),
        ("and", "and", "expected a field", ""),
        ("", "", "the filter is empty", "as in"),
        ("hparams.x == +", "", "after a sign a number is missing", ""),
    ],
)
def test_an_error_points_at_the_mistake(text, marked, problem, hint):
    with pytest.raises(QueryError) as caught:
        parse_query(text)
    error = caught.value
    assert problem in error.problem
    assert hint in error.hint
    assert text[error.start : error.end].endswith(marked)
    lines = error.message.splitlines()
    assert lines[1][2:] == text
    assert lines[2].index("^") - 2 == error.start
    assert lines[2].count("^") == max(1, error.end - error.start)


def test_a_long_filter_is_shown_around_the_place():
    text = " or ".join(["hparams.lr > 1"] * 50) + " or stats > 1" + " or hparams.lr > 1" * 20
    with pytest.raises(QueryError) as caught:
        parse_query(text)
    first, shown, caret = caught.value.message.splitlines()
    assert first == f"there is no field 'stats' (column {text.index('stats') + 1})"
    assert shown[caret.index("^") : caret.rindex("^") + 1] == "stats"
    assert len(shown) < 110


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("x" * (LONGEST_QUERY + 1), "4001 characters; at most 4000"),
        ("(" * 41 + "hparams.x" + ")" * 41, "nested deeper than 40 levels"),
        ("not " * 41 + "hparams.x", "nested deeper than 40 levels"),
        ("x " * 101, "more than 100 conditions"),
        ("x" * 401, "at most 400 characters"),
        (" or ".join(["hparams.x"] * 101), "more than 100 conditions"),
        (f"hparams.x in [{','.join('1' * 1001)}]", "a list has at most 1000 values"),
        ("hparams.x > " + "9" * 101, "at most 100 digits"),
    ],
)
def test_limits(text, problem):
    with pytest.raises(QueryError) as caught:
        parse_query(text)
    assert problem in caught.value.problem


_PIECES = [
    *("hparams.lr", "metrics.a.min", "status", "tags", "tags.x", "name", "created", "note", "x"),
    *("and", "or", "not", "in", "is", "none", "nan", "now", "like", "==", "<", "!=", "(", ")", "[", "]", ",", "-", "."),
    *("1", "0.5", "7d", "2GB", '"running"', '"2026-11-01"', "'", "\\", "~", "\x00", "ä", "true"),
]


@given(st.one_of(st.text(max_size=60), st.lists(st.sampled_from(_PIECES), max_size=12).map(" ".join)))
def test_any_text_is_read_or_refused_with_a_place(text):
    try:
        parse_query(text)
        place = (0, 0)
    except QueryError as error:
        place = (error.start, error.end)
    assert 0 <= place[0] <= place[1] <= len(text)


@pytest.mark.parametrize(
    ("text", "field", "descending"),
    [
        ("created", column("created"), False),
        ("-created", column("created"), True),
        ("hparams.lr desc", LR, True),
        ("metrics.loss.min ASC", MetricField("loss", MetricPart.MIN), False),
        ("run_num", column("number"), False),
    ],
)
def test_orders(text, field, descending):
    sort = parse_sort(text)
    assert (sort.field, sort.descending) == (field, descending)


@pytest.mark.parametrize("text", ["", "-", "created,name", "tags.x", "note", "nope", "created down"])
def test_orders_that_are_none(text):
    with pytest.raises(QueryError):
        parse_sort(text)
