# SPDX-License-Identifier: Apache-2.0
"""Building a wheel without the page warns."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(("state", "has_page", "warns"), [("wheel", 0, 1), ("wheel", 1, 0), ("editable", 0, 0)])
def test_a_wheel_without_the_page_is_told_while_it_is_built(
    tmp_path: Path, state: str, has_page: int, warns: int
) -> None:
    root = Path(__file__).parents[2]
    (tmp_path / "CMakeLists.txt").write_text((root / "CMakeLists.txt").read_text())
    (tmp_path / "native").symlink_to(root / "native")
    page = tmp_path / "src" / "aboard" / "server" / "_web" / "index.html"
    page.parent.mkdir(parents=True)
    if has_page:
        page.touch()
    options = [f"-DSKBUILD_STATE={state}", "-DABOARD_BUILD_EXTENSION=OFF"]
    command = [Path(sys.executable).parent / "cmake", "-S", tmp_path, "-B", tmp_path / "build", *options]
    configured = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    assert ("is not built" in configured.stderr) == bool(warns)
