# SPDX-License-Identifier: Apache-2.0
"""A framework that is missing, broken or too old is named, with its version and what to type."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from aboard.errors import MissingPackage
from aboard.integrations.framework import require, version_numbers


def _package(folder: Path, name: str, version: str, code: str = "") -> None:
    (folder / f"{name}.py").write_text(code, encoding="utf-8")
    about = folder / f"{name}-{version}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8")


def test_one_that_is_missing_is_named_with_its_version() -> None:
    with pytest.raises(MissingPackage, match=r"needs the package keras 3\.0 or newer .*not installed") as caught:
        require("no_such_framework", "keras", "3.0", newest_tested="3.15")
    assert caught.value.hint == "pip install 'keras>=3.0'"


def test_one_that_is_too_old_is_named_with_both_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _package(tmp_path, "oldframework", "2.9.1")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MissingPackage, match=r"oldframework 2\.10 or newer; 2\.9\.1 is installed"):
        require("oldframework", "oldframework", "2.10")
    assert require("oldframework", "oldframework", "2.9").__name__ == "oldframework"


def test_one_that_cannot_be_imported_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _package(tmp_path, "brokenframework", "1.0", "import a_part_that_is_missing")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MissingPackage, match=r"installed, but cannot be imported: .*a_part_that_is_missing"):
        require("brokenframework", "brokenframework", "1.0")
    sys.modules.pop("brokenframework", None)


@pytest.mark.parametrize(
    ("older", "newer"), [("2.9", "2.10"), ("2.13.0+cpu", "2.14"), ("1.0rc1", "1.1"), ("", "0.1"), ("0.0.9", "0.0.12")]
)
def test_versions_are_compared_as_numbers(older: str, newer: str) -> None:
    assert version_numbers(older) < version_numbers(newer)


def test_zeros_at_the_end_make_no_difference() -> None:
    assert version_numbers("2.0.0") == version_numbers("2")


@pytest.mark.parametrize("framework", ["keras", "lightning", "transformers", "clu", "xgboost", "optuna", "accelerate"])
def test_each_integration_says_so_where_its_framework_is_not_installed(framework: str) -> None:
    import importlib
    from importlib.util import find_spec

    assert find_spec(framework) is None, "unit tests run in the everyday environment"
    with pytest.raises(MissingPackage, match="or newer"):
        importlib.import_module(f"aboard.integrations.{framework}")
