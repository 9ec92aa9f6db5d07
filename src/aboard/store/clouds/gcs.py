# SPDX-License-Identifier: Apache-2.0
"""Google Cloud Storage: application default credentials, and the emulator that Google's own libraries know."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from aboard.store.clouds.client import METADATA_SERVICE, BucketClient, ClientSettings, build_both, require_cloud_machine
from aboard.store.clouds.errors import BucketContext

_SOURCES = (
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GOOGLE_SERVICE_ACCOUNT",
    "GOOGLE_SERVICE_ACCOUNT_PATH",
    "GOOGLE_SERVICE_ACCOUNT_KEY",
    "GOOGLE_BEARER_TOKEN",
)
_EMULATOR = "emulator"


def make(settings: ClientSettings) -> BucketClient:
    connection, address = settings.connection, settings.address
    emulator = settings.first("STORAGE_EMULATOR_HOST")
    if emulator and "://" not in emulator:
        emulator = f"http://{emulator}"
    config: dict[str, Any] = {}
    if endpoint := connection.endpoint or emulator or settings.first("GOOGLE_BASE_URL"):
        config["base_url"] = endpoint.rstrip("/")
    own_file = _login_file(settings)
    if connection.anonymous or settings.says_yes("GOOGLE_SKIP_SIGNATURE"):
        config["skip_signature"] = True
    elif emulator and not connection.endpoint:
        config["bearer_token"] = _EMULATOR  # without one obstore looks for credentials before each write
    elif connection.secret:
        config["bearer_token"] = connection.secret
    elif not settings.is_set(*_SOURCES) and own_file:
        config["application_credentials"] = str(own_file)
    elif not settings.is_set(*_SOURCES):
        host = settings.first("GCE_METADATA_IP", "GCE_METADATA_HOST", "GCE_METADATA_ROOT")
        require_cloud_machine(settings, f"http://{host}" if host else METADATA_SERVICE)
    reading, writing = build_both("gs", settings, config)
    return BucketClient(BucketContext("gs", address.uri, address.bucket), reading, writing, writing)


def _login_file(settings: ClientSettings) -> Path | None:
    """What `gcloud auth application-default login` leaves."""
    folder = settings.first("CLOUDSDK_CONFIG") or Path.home() / ".config/gcloud"
    path = Path(folder) / "application_default_credentials.json"
    return path if path.is_file() else None
