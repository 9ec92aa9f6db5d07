# SPDX-License-Identifier: Apache-2.0
"""docs/filters.md names every field and operator, and its examples are filters."""

import re
from pathlib import Path

import pytest

from aboard.model.query.fields import COLUMNS
from aboard.model.query.parser import parse_query
from aboard.model.query.tree import MetricPart, Pattern, query_text

TEXT = (Path(__file__).parents[3] / "docs/filters.md").read_text("utf-8")
EXAMPLES = [line for block in re.findall(r"```filter\n(.*?)```", TEXT, re.DOTALL) for line in block.splitlines()]


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples(example):
    query = parse_query(example)
    assert parse_query(query_text(query)) == query


def test_every_field_and_operator_is_named():
    words = set(re.findall(r"\w+", TEXT))
    assert words >= {*COLUMNS, *MetricPart, *Pattern}
    assert len(EXAMPLES) == 5
