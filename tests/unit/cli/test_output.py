# SPDX-License-Identifier: Apache-2.0
"""Tables and pairs on a terminal: alignment, cutting, and texts that would control the terminal."""

import pytest

from aboard.cli.output import format_value, print_pairs, print_table
from aboard.cli.runs.listing import format_group

BAD = "v\x1b]0;PWN\x07\x1b[2J\r\n\x9b31m\u202e"
ESCAPED = r"v\u001b]0;PWN\u0007\u001b[2J\r\n\u009b31m\u202e"


@pytest.mark.parametrize("value", [BAD, {"t": BAD}, {BAD: ""}, [BAD], (BAD, 1)])
def test_values_are_shown_without_control_characters(value: object):
    for text in (format_value(value), format_group(value)):
        assert ESCAPED in text
        assert text.isprintable()


def test_a_table_escapes_every_cell_and_title(capsys: pytest.CaptureFixture[str]):
    print_table(["name", BAD], [["a", BAD], [f"tags={BAD}", "1"]], right=[False, True])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert all(line.isprintable() for line in lines)
    assert [line.count(ESCAPED) for line in lines] == [1, 0, 1, 1]
    assert len({line.index("|") for line in (lines[0], *lines[2:])}) == 1


def test_a_cell_is_cut_after_it_was_escaped(capsys: pytest.CaptureFixture[str]):
    print_table(["name"], [[BAD * 10]], max_width=12)
    assert capsys.readouterr().out.splitlines()[-1] == r"v\u001b]0;P…"


def test_pairs_escape_names_and_values(capsys: pytest.CaptureFixture[str]):
    print_pairs({BAD: BAD, "b": "1"}, indent="  ")
    lines = capsys.readouterr().out.splitlines()
    assert (len(lines), lines[0].count(ESCAPED)) == (2, 2)
    assert all(line.isprintable() for line in lines)
