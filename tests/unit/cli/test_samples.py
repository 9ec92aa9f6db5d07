# SPDX-License-Identifier: Apache-2.0
"""How many entries a person wants to see."""

import pytest

from aboard.cli.habits import parse_sample_options
from aboard.errors import InvalidValue


@pytest.mark.parametrize(
    ("samples", "per_plugin", "wanted"),
    [
        (None, None, {}),
        (100, None, {"scalars": 100}),
        (0, "", {"scalars": 0}),
        (None, "scalars=500,images=0", {"scalars": 500, "images": 0}),
        (7, " text = 3 ,", {"scalars": 7, "text": 3}),
        (7, "scalars=7", {"scalars": 7}),
        (None, "somebodys-plugin=5", {"somebodys-plugin": 5}),
    ],
)
def test_both_ways_to_say_it(samples, per_plugin, wanted):
    assert parse_sample_options(samples, per_plugin) == wanted


@pytest.mark.parametrize(
    ("samples", "per_plugin", "said"),
    [
        (None, "scalars", "plugin=number pairs, got 'scalars'"),
        (None, "scalars=many", "got 'scalars=many'"),
        (None, "scalars=-1", "got 'scalars=-1'"),
        (None, "=5", "got '=5'"),
        (5, "scalars=6", "given twice, as 5 and as 6"),
        (None, "distributions=6", "use histograms=6"),
    ],
)
def test_what_makes_no_sense_is_said(samples, per_plugin, said):
    with pytest.raises(InvalidValue) as error:
        parse_sample_options(samples, per_plugin)
    assert said in str(error.value)
