# SPDX-License-Identifier: Apache-2.0
"""The library of another tool, without which its data cannot be read."""

from __future__ import annotations

import importlib
from typing import Any

from aboard.errors import MissingPackage


def library(module: str, package: str) -> Any:
    """A module of a tool; raises MissingPackage."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingPackage(
            f"Reading its data needs the package {package}, which is not installed here: {error}",
            hint=f"pip install {package}",
        ) from error
