# SPDX-License-Identifier: Apache-2.0
"""The environment of a person who uses one cloud and nothing else, and where no test can reach the outside."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

PREFIXES = (
    "AWS_",
    "S3_",
    "AZURE_",
    "AZURITE_",
    "GOOGLE_",
    "GCE_",
    "OSS_",
    "CLOUDSDK_",
    "STORAGE_EMULATOR",
    "IDENTITY_",
)
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
NOBODY_LISTENS = "127.0.0.1:9"


def clear_clouds(patch: pytest.MonkeyPatch, home: Path) -> None:
    """No credentials, no proxies, an empty home, and metadata services that are not there."""
    import os

    for name in list(os.environ):
        if name.startswith(PREFIXES) or name.lower() in PROXIES:
            patch.delenv(name)
    patch.setenv("HOME", str(home))
    patch.setenv("AWS_METADATA_ENDPOINT", f"http://{NOBODY_LISTENS}")
    for name in ("GCE_METADATA_HOST", "GCE_METADATA_ROOT", "GCE_METADATA_IP"):
        patch.setenv(name, NOBODY_LISTENS)
    for module in ("s3", "gcs", "azure", "client"):
        patch.setattr(f"aboard.store.clouds.{module}.METADATA_SERVICE", f"http://{NOBODY_LISTENS}")


def use(patch: pytest.MonkeyPatch, variables: Mapping[str, str]) -> None:
    """Set environment variables."""
    for name, value in variables.items():
        patch.setenv(name, value)
