# SPDX-License-Identifier: Apache-2.0
"""Azure Blob Storage: accounts, keys, shared access signatures and connection strings, named as Azure's tools do."""

from __future__ import annotations

from typing import Any

from aboard.errors import CredentialsMissing, InvalidValue
from aboard.store.clouds.client import METADATA_SERVICE, BucketClient, ClientSettings, build_both, require_cloud_machine
from aboard.store.clouds.errors import BucketContext, expiry_of_shared_access

_OTHER_SOURCES = (
    "AZURE_STORAGE_TOKEN",
    "AZURE_CLIENT_SECRET",
    "AZURE_STORAGE_CLIENT_SECRET",
    "AZURE_FEDERATED_TOKEN_FILE",
    "AZURE_USE_AZURE_CLI",
    "AZURE_SKIP_SIGNATURE",
    "AZURE_STORAGE_USE_EMULATOR",
    "IDENTITY_ENDPOINT",
    "AZURE_MSI_ENDPOINT",
    "AZURE_IDENTITY_ENDPOINT",
)
_EMULATOR = "http://127.0.0.1:10000/devstoreaccount1"


def make(settings: ClientSettings) -> BucketClient:
    """The client of an az:// address, or of another form of it."""
    address = settings.address
    text = _connection_string(settings)
    account = address.account or settings.connection.account or text.get("accountname", "")
    account = account or settings.first("AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT")
    if not account and not settings.says_yes("AZURE_STORAGE_USE_EMULATOR"):
        raise CredentialsMissing(
            f"{address.uri}: it is not known to which storage account the container belongs.",
            hint="Set AZURE_STORAGE_ACCOUNT_NAME, or write abfss://container@account.dfs.core.windows.net/prefix.",
        )
    config: dict[str, Any] = {"account_name": account} if account else {}
    if endpoint := _endpoint(settings, text):
        config["endpoint"] = endpoint
    secrets = _secrets(settings, text)
    config |= secrets
    if not secrets and not settings.is_set(*_OTHER_SOURCES):
        require_cloud_machine(settings, METADATA_SERVICE)
    reading, writing = build_both("az", settings, config)
    expires = expiry_of_shared_access(str(secrets.get("sas_key", "")))
    place = BucketContext("az", address.uri, address.bucket, expires=expires)
    return BucketClient(place, reading, writing, writing, requests_around_parts=1, page_size=5000)


def _endpoint(settings: ClientSettings, text: dict[str, str]) -> str:
    given = settings.connection.endpoint or settings.address.endpoint or text.get("blobendpoint", "")
    if not given and text.get("endpointsuffix") and text.get("accountname"):
        given = f"{text.get('defaultendpointsprotocol', 'https')}://{text['accountname']}.blob.{text['endpointsuffix']}"
    return given or settings.first("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT")


def _secrets(settings: ClientSettings, text: dict[str, str]) -> dict[str, Any]:
    """The one kind of secret that was given; what is said nearest to the call wins."""
    connection = settings.connection
    if connection.anonymous:
        return {"skip_signature": True}
    key = text.get("accountkey") or settings.first(
        "AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_ACCESS_KEY", "AZURE_STORAGE_MASTER_KEY", "AZURE_STORAGE_KEY"
    )
    signature = text.get("sharedaccesssignature") or settings.first("AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_SAS_KEY")
    if connection.secret:
        is_signature = "sig=" in connection.secret
        key, signature = ("", connection.secret) if is_signature else (connection.secret, "")
    if settings.address.shared_access:
        signature = settings.address.shared_access
    if signature and (settings.address.shared_access or not key):
        return {"sas_key": signature.lstrip("?"), "credential_type": "sas_token"}
    return {"account_key": key, "credential_type": "access_key"} if key else {}


def _connection_string(settings: ClientSettings) -> dict[str, str]:
    """The parts of AZURE_STORAGE_CONNECTION_STRING, with names in small letters."""
    text = settings.first("AZURE_STORAGE_CONNECTION_STRING").strip().strip(";")
    if not text or settings.address.account:
        return {}
    pairs = [part.partition("=") for part in text.split(";")]
    if not all(name and equals for name, equals, _ in pairs):
        raise InvalidValue("AZURE_STORAGE_CONNECTION_STRING is not a list of Name=Value parts joined by semicolons.")
    parts = {name.strip().lower(): value.strip() for name, _, value in pairs}
    if parts.get("usedevelopmentstorage", "").lower() == "true":
        return {"accountname": "devstoreaccount1", "blobendpoint": _EMULATOR, "accountkey": _emulator_key()} | parts
    return parts


def _emulator_key() -> str:
    """The key that Microsoft publishes for the emulator on everybody's own machine."""
    return "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
