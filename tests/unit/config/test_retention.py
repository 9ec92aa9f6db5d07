# SPDX-License-Identifier: Apache-2.0
"""Rules of retention in the settings file: what they mean, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from aboard.config.retention import RetentionRule
from aboard.config.settings import load_settings
from aboard.errors import InvalidValue


def rules(home: Path, text: str) -> tuple[RetentionRule, ...]:
    (home / "config.toml").write_text(text)
    return load_settings(environ={"ABOARD_HOME": str(home)}).retention


def test_rules_are_read_in_their_order(tmp_path: Path) -> None:
    assert rules(tmp_path, 'workspace = "lab"\n') == ()
    assert rules(
        tmp_path,
        """
        workspace = "lab"
        [[retention]]
        where = 'status == "failed"'
        older_than = "2w"
        workspaces = ["lab", "other"]
        [[retention]]
        keep = 5
        files = true
        in_bin = true
        """,
    ) == (
        RetentionRule(where='status == "failed"', older_than_seconds=14 * 86400.0, workspaces=("lab", "other")),
        RetentionRule(keep=5, files=True, in_bin=True),
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[[retention]]\nolder = '3d'", "unknown key 'older'"),
        ("[[retention]]\nolder_than = '3 months'", "'3 months' is not a length of time"),
        ("[[retention]]\nolder_than = 3", "older_than is 3, where str is expected"),
        ("[[retention]]\nkeep = true", "keep is True, where int is expected"),
        ("[[retention]]\nkeep = -1", "keep is -1"),
        ("[[retention]]\nkeep = 1\nfiles = 'yes'", "files is 'yes'"),
        ("[[retention]]\nkeep = 1\nworkspaces = [3]", "workspaces is 3"),
        ("[[retention]]\nworkspaces = ['lab']", "would delete every run"),
        ("[[retention]]\nin_bin = true\nolder_than = '3d'", "in the bin already"),
        ("retention = 3", "is 3, where a table is expected"),
        ("[[retention]]\nkeep = 1\n[[retention]]\nkeep = 'x'", "number 2"),
    ],
)
def test_what_is_wrong_with_a_rule_is_told(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        rules(tmp_path, text)
    assert told in caught.value.message
    assert "config.toml" in caught.value.message
