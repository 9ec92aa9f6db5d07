# SPDX-License-Identifier: Apache-2.0
"""Charts that are added one by one stay together, for TensorBoard shows the last layout only."""

import pytest

from aboard import SummaryWriter
from aboard.errors import InvalidValue
from support.reading import points


@pytest.fixture
def writer(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        yield writer


def last_layout(writer, folder):
    writer.flush()
    layout = points(folder)[-1].value
    return {category.title: [chart.title for chart in category.chart] for category in layout.category}


def test_charts_accumulate(writer, tmp_path):
    writer.add_custom_scalars_multilinechart(["a", "b"], "losses", "one")
    writer.add_custom_scalars_marginchart(["m", "l", "h"], "losses", "two")
    writer.add_custom_scalars_multilinechart(["c"])
    assert last_layout(writer, tmp_path) == {"losses": ["one", "two"], "default": ["untitled"]}


def test_the_same_title_replaces_its_chart(writer, tmp_path):
    tags = ["a"]
    writer.add_custom_scalars_multilinechart(tags, "losses", "one")
    tags.append("later")
    writer.add_custom_scalars_multilinechart(("b",), "losses", "one")
    writer.flush()
    first, last = (point.value.category[0].chart for point in points(tmp_path))
    assert [list(chart.multiline.tag) for chart in first] == [["a"]]
    assert [list(chart.multiline.tag) for chart in last] == [["b"]]


@pytest.mark.parametrize("tags", [[], ["a"], ["a", "b"], ["a", "b", "c", "d"], "ab"])
def test_margin_charts_need_three_tags(writer, tags):
    with pytest.raises(InvalidValue, match=r"tags must be three: .* got"):
        writer.add_custom_scalars_marginchart(tags)


@pytest.mark.parametrize("tags", ["abc", [1, 2]])
def test_a_refused_chart_does_not_stay_in_the_layout(writer, tmp_path, tags):
    with pytest.raises(InvalidValue, match="no list of texts"):
        writer.add_custom_scalars_multilinechart(tags, "losses", "bad")
    writer.add_custom_scalars_multilinechart(["a"], "losses", "good")
    assert last_layout(writer, tmp_path) == {"losses": ["good"]}
