# SPDX-License-Identifier: Apache-2.0
"""The framework that an integration is for: imported, or an error that names the package and the version."""

from __future__ import annotations

import importlib
import re
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from aboard.errors import MissingPackage


def required(module: str, package: str, oldest: str, *, newest_tested: str = "") -> Any:
    """The module, if its package is installed and not too old; raises MissingPackage."""
    wanted = f"pip install '{package}>={oldest}'"
    try:
        found = importlib.import_module(module)
    except ImportError as error:
        if _is_other(error, module):
            raise MissingPackage(f"{package} is installed, but cannot be imported: {error}", hint=wanted) from error
        tested = f" (tested with {newest_tested})" if newest_tested else ""
        raise MissingPackage(
            f"This integration needs the package {package} {oldest} or newer{tested}, which is not installed.",
            hint=wanted,
        ) from error
    installed = installed_version(package, found)
    if installed and numbers(installed) < numbers(oldest):
        raise MissingPackage(
            f"This integration needs the package {package} {oldest} or newer; {installed} is installed.",
            hint=wanted,
        )
    return found


def installed_version(package: str, module: Any = None) -> str:
    """The version of a package; empty where nobody says."""
    try:
        return version(package)
    except PackageNotFoundError:  # a build of another name, such as tensorflow-cpu
        return str(getattr(module, "__version__", ""))


def numbers(text: str) -> tuple[int, ...]:
    """`2.13.0+cpu` as (2, 13, 0): what comes behind the numbers does not make a version older."""
    found = re.match(r"\d+(\.\d+)*", text)
    parts = [int(part) for part in found[0].split(".")] if found else []
    while parts and not parts[-1]:
        parts.pop()
    return tuple(parts)


def _is_other(error: ImportError, module: str) -> bool:
    """Whether something else is missing than the framework itself."""
    name = getattr(error, "name", None) or ""
    return bool(name) and name.partition(".")[0] != module.partition(".")[0]
