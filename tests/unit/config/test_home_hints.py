# SPDX-License-Identifier: Apache-2.0
"""A full disk and a folder without permission call for different things."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from aboard.config.home import home_hint
from aboard.errors import StorageUnavailable
from aboard.run.supervisor import uploads


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_needs_space(code: int) -> None:
    assert home_hint(OSError(code, "full")).startswith("Free some space on that disk")


def test_other_errors_need_another_home() -> None:
    assert home_hint(PermissionError(errno.EACCES, "denied")) == "Set ABOARD_HOME to a folder that you can write to."


def test_a_run_on_a_full_disk_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(uploads, "make_private_folder", full)
    with (
        pytest.raises(StorageUnavailable, match="No space left on device") as caught,
        uploads.spool_locked(tmp_path),
    ):
        pass
    assert "Free some space" in str(caught.value.hint)
