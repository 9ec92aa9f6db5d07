# SPDX-License-Identifier: Apache-2.0
"""Compares the cloud credentials of two processes by digests, without revealing them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

# Variables with the endpoints and credentials of each cloud.
_VARIABLES = {
    "s3": re.compile(r"AWS_(?!PAGER|CLI_|EXECUTION_ENV|RETRY_MODE|MAX_ATTEMPTS)|S3_ENDPOINT$|S3_USE_HTTPS$"),
    "gs": re.compile(r"GOOGLE_|CLOUDSDK_CONFIG$"),
    "az": re.compile(r"AZURE_(?!CORE_|EXTENSION)|AZURITE_|IDENTITY_ENDPOINT$|IDENTITY_HEADER$|MSI_"),
    "oss": re.compile(r"OSS_"),
}
# A region or an endpoint alone is no login: who has no more uses what the other process has.
_LOGIN = re.compile(
    r"KEY|TOKEN|SECRET|SAS|PROFILE|CREDENTIALS|CONFIG|CONNECTION_STRING|SERVICE_ACCOUNT|USE_AZURE_CLI|SKIP_SIGNATURE|EMULATOR"
)
CLOUDS = {"s3": "AWS_*", "gs": "GOOGLE_*", "az": "AZURE_*", "oss": "OSS_*"}
"""What people call the variables of each kind."""
_KINDS = {
    "s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs", "oss": "oss",
    "az": "az", "azure": "az", "abfs": "az", "abfss": "az", "https": "az",
}  # fmt: skip


def cloud_of(uri: str) -> str:
    """The kind of cloud that a URI is in; empty for folders and names."""
    scheme, separator, _ = uri.partition("://")
    return _KINDS.get(scheme.lower(), "") if separator else ""


def fingerprints(environ: Mapping[str, str], salt: str) -> dict[str, str]:
    """A digest of the variables of each cloud; empty where none of them is a credential.

    Digests are compared only with those of the same salt, and nothing can be found out from one about a secret that
    nobody could guess anyway.
    """
    found: dict[str, str] = {}
    for kind, names in _VARIABLES.items():
        given = sorted((name, value) for name, value in environ.items() if value and names.match(name))
        has_login = any(_LOGIN.search(name) for name, _ in given)
        data = "\0".join(part for pair in given for part in pair).encode("utf-8", "surrogateescape")
        found[kind] = hashlib.scrypt(data, salt=salt.encode(), n=2**10, r=8, p=1, dklen=16).hex() if has_login else ""
    return found
