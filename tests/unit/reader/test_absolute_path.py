# SPDX-License-Identifier: Apache-2.0
"""Paths of runs do not depend on where a process was started, and stay as they were named."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from aboard.reader.run import absolute_path


@pytest.mark.parametrize("path", ["runs", "runs/a/b", ".", "../runs", "/somewhere/../else", "/", "a run é", "x\udcff"])
def test_it_is_what_a_path_says(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert absolute_path(path) == os.fsencode(Path(path).absolute())
    assert absolute_path(Path(path)) == os.fsencode(Path(path).absolute())
