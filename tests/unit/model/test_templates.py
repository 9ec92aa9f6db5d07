# SPDX-License-Identifier: Apache-2.0
"""Names from templates: fields, short forms, and mistakes that are shown at their place."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aboard.errors import InvalidValue
from aboard.model.templates import BOARD_FIELDS, FOLDER_FIELDS, KnownFields, NameTemplate, TemplateField, short_form
from support.cases import all_cases

CATALOG = KnownFields(columns=("workspace", "run", "logdir", "status"))
VALUES = {
    TemplateField("", "workspace"): "ws1",
    TemplateField("", "run"): "run23",
    TemplateField("", "logdir"): "train",
    TemplateField("hparams", "lr"): 0.01,
    TemplateField("hparams", "epochs"): 2500.0,
    TemplateField("hparams", "opt.name"): "adam",
    TemplateField("metrics", "val/loss", "min"): 0.25,
    TemplateField("metrics", "loss", "last"): -0.5,
    TemplateField("tags", "best"): True,
}


def render(text: str, known: KnownFields = CATALOG) -> str:
    return NameTemplate(text, known).render(VALUES.get)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("{workspace}_{run}_{logdir}", "ws1_run23_train"),
        ("{run}_lr={hparams.lr}_epochs={hparams.epochs}", "run23_lr=.01_epochs=2500"),
        ("{hparams.opt.name}", "adam"),
        ("{metrics.val/loss.min}", ".25"),
        ("{metrics.loss}", "-.5"),
        ("{tags.best}", "True"),
        ("{hparams.decay}", "none"),
        ("{{{run}}}", "{run23}"),
        ("}}{{", "}{"),
        ("plain", "plain"),
        ("{run}{run}", "run23run23"),
    ],
)
def test_fields_are_filled_in(text, name):
    assert render(text) == name


@all_cases(
    ("value", "text"),
    [
        (0.01, ".01"),
        (-0.5, "-.5"),
        (0.0, "0"),
        (1e-05, "1e-05"),
        (2500.0, "2500"),
        (10.5, "10.5"),
        (0.10000000149011612, ".1"),
        (1 / 3, ".333333"),
        (1e30, "1e+30"),
        (123456.75, "123457"),
        (math.nan, "nan"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        (7, "7"),
        (False, "False"),
        ("", ""),
        (None, "none"),
    ],
)
def test_the_short_form_of_values(value, text):
    assert short_form(value) == text


def test_columns_of_xt_have_their_counterparts():
    fields = NameTemplate("{username}_{box}_{job}", BOARD_FIELDS).fields
    assert [field.key for field in fields] == ["user", "host", "experiment"]
    with pytest.raises(InvalidValue, match="unknown field 'username'"):
        NameTemplate("{username}", FOLDER_FIELDS)


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("{run}_{hparams.lr", 6, "never closed"),
        ("{run", 0, "never closed"),
        ("a{b{run}", 1, "never closed"),
        ("{run}}", 5, "without an opening"),
        ("}", 0, "without an opening"),
        ("{run}_{rum}", 7, "unknown field 'rum'"),
        ("{}", 1, "unknown field ''"),
        ("{hparams}", 1, "unknown field 'hparams'"),
        ("{hparams.}", 1, "unknown field 'hparams.'"),
        ("{other.x}", 1, "unknown field 'other.x'"),
    ],
)
def test_a_mistake_is_shown_at_its_place(text, place, said):
    with pytest.raises(InvalidValue) as error:
        NameTemplate(text, CATALOG)
    lines = error.value.message.splitlines()
    assert said in lines[0]
    assert lines[0].endswith(f"at character {place + 1}:")
    assert lines[1:] == [f"  {text}", f"  {' ' * place}^"]


def test_the_valid_fields_are_listed():
    with pytest.raises(InvalidValue) as error:
        NameTemplate("{status}", FOLDER_FIELDS)
    fields = "run, logdir, root, workspace, hparams.NAME, metrics.NAME, metrics.NAME.first|last|min|max"
    assert error.value.hint == f"fields: {fields}"


def test_an_empty_template_is_refused():
    with pytest.raises(InvalidValue, match="empty"):
        NameTemplate("", CATALOG)


def test_a_line_end_does_not_move_the_caret():
    with pytest.raises(InvalidValue) as error:
        NameTemplate("a\n{x", CATALOG)
    assert error.value.message.endswith("\n  a {x\n    ^")


def test_what_is_missing_of_an_identity():
    identity = ("workspace", "run", "logdir")
    assert NameTemplate("{run}_{hparams.lr}", CATALOG).lacks(identity) == ("workspace", "logdir")
    assert NameTemplate("{workspace}{run}{logdir}", CATALOG).lacks(identity) == identity


@given(st.text(alphabet="{}ab.runhparams", max_size=40))
def test_any_text_is_a_template_or_an_explained_mistake(text):
    try:
        made = NameTemplate(text, CATALOG).render(lambda _: "x")
    except InvalidValue as error:
        made = str(error)
    assert made or not text


@given(st.text(min_size=1))
def test_doubled_braces_stand_for_themselves(text):
    assert render(text.replace("{", "{{").replace("}", "}}")) == text
