# SPDX-License-Identifier: Apache-2.0
"""Whether git can know a folder, found out without starting git."""

from __future__ import annotations

import os
from pathlib import Path


def may_be_work_tree(folder: Path) -> bool:
    """False where neither the folder nor one above it has a `.git`, and the environment names none."""
    resolved = folder.resolve()
    return "GIT_DIR" in os.environ or any((place / ".git").exists() for place in (resolved, *resolved.parents))
