# SPDX-License-Identifier: Apache-2.0
"""Stored logins in a file that only its owner can read, and digests of cloud credentials in the environment."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

from aboard.config.settings import Settings, load_settings
from aboard.errors import InvalidValue, StorageUnavailable
from aboard.foundation.files import make_private_folder

_FORMAT, _VERSION = "aboard-credentials", 1


@dataclass(frozen=True, slots=True)
class Credential:
    """What opens one server."""

    token: str = field(repr=False)
    user: str = ""
    store: str = ""
    """Where runs go that are logged for this server, unless another place is named."""


class Credentials:
    """The file below the home folder of aboard. A token is shown to the server it is for, and to no other."""

    def __init__(self, home: Path) -> None:
        self.path = home / "credentials.json"

    def current(self) -> str | None:
        """The server of the last login."""
        found = self._read().get("current")
        return found if isinstance(found, str) and found else None

    def of(self, url: str) -> Credential | None:
        """What opens this server."""
        entry = self._servers().get(_key(url))
        match entry:
            case {"token": str(token), "user": str(user)}:
                store = cast("Mapping[str, object]", entry).get("store")
                return Credential(token, user, store if isinstance(store, str) else "")
            case _:
                return None

    def keep(self, url: str, credential: Credential) -> None:
        """Remember a login; this server is asked from now on."""
        entry = {"token": credential.token, "user": credential.user, "store": credential.store}
        self._write({**self._servers(), _key(url): entry}, _key(url))

    def drop(self, url: str) -> bool:
        """Forget a login; whether there was one."""
        servers, current = dict(self._servers()), self.current()
        found = servers.pop(_key(url), None)
        if found is not None:
            self._write(servers, None if current == _key(url) else current)
        return found is not None

    def _servers(self) -> Mapping[str, object]:
        servers = self._read().get("servers")
        return cast("Mapping[str, object]", servers) if isinstance(servers, dict) else {}

    def _read(self) -> Mapping[str, object]:
        try:
            document: object = json.loads(self.path.read_text("utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            hint = "remove it and `aboard login` again"
            raise InvalidValue(f"cannot read the logins in {self.path}: {error}", hint=hint) from error
        found = cast("Mapping[str, object]", document if isinstance(document, dict) else {})
        version = cast("list[object]", found.get("version") or [])
        if found.get("format") != _FORMAT or version[:1] != [_VERSION]:
            hint = "it was written by a newer aboard: upgrade this one, or remove the file and `aboard login` again"
            raise InvalidValue(f"{self.path} does not hold logins that this version knows", hint=hint)
        return found

    def _write(self, servers: Mapping[str, object], current: str | None) -> None:
        document = {"format": _FORMAT, "version": [_VERSION, 0], "current": current, "servers": dict(servers)}
        aside = self.path.with_name(f"{self.path.name}.{os.getpid()}.aside")
        try:
            make_private_folder(self.path.parent)
            file = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(file, "w", encoding="utf-8") as stream:
                json.dump(document, stream, indent=1)
            aside.replace(self.path)
        except OSError as error:
            with contextlib.suppress(OSError):
                aside.unlink()
            raise StorageUnavailable(f"{self.path} cannot be written: {error.strerror}") from error


def client_settings(flags: Mapping[str, object | None] | None = None) -> Settings:
    """The settings of a program that asks a server: the one that was named, or the one of the last login."""
    settings = load_settings(flags)
    credentials = Credentials(settings.home)
    server = settings.server or credentials.current()
    if server is None:
        return settings
    known = credentials.of(server) if settings.token is None else None
    if known is None:
        return replace(settings, server=server)
    return replace(load_settings(flags, default_store=known.store), server=server, token=known.token)


def _key(url: str) -> str:
    return (url if "://" in url else f"http://{url}").rstrip("/").lower()


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
