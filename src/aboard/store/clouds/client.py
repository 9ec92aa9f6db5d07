# SPDX-License-Identifier: Apache-2.0
"""The obstore client of a bucket, made from the settings of a connection and the environment of its cloud.

obstore is imported when the first object store is opened. It does not survive a fork: a forked child would hang, so
using it there raises an error.
"""

from __future__ import annotations

import importlib
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from aboard.errors import AboardError, CredentialsMissing, InvalidValue, StoreError
from aboard.store.clouds.errors import BucketContext, credentials_hint, parse_response
from aboard.store.connection import Connection, Patience
from aboard.store.uri import StoreAddress

_loaded_in: int | None = None
_obstore: Any = None


def obstore_of_this_process() -> Any:
    """The obstore package; an error in a child that was forked after it had been loaded."""
    global _loaded_in, _obstore
    if _obstore is None:
        _loaded_in = os.getpid()
        for name in ("exceptions", "store"):
            importlib.import_module(f"obstore.{name}")
        _obstore = importlib.import_module("obstore")
    if _loaded_in != os.getpid():
        raise StoreError(
            "An object store cannot be used in a process that was forked from one that used it already.",
            hint='Start the process by spawn or exec, such as multiprocessing.get_context("spawn").',
        )
    return _obstore


def is_panic(error: BaseException) -> bool:
    """Whether native code of obstore failed. Its exception has no name to import and is no `Exception`."""
    return type(error).__name__ == "PanicException"


PROBE_SECONDS = 1.0
METADATA_SERVICE = "http://169.254.169.254"


@dataclass(frozen=True)
class BucketClient:
    """The obstore objects of a bucket, and what is particular to its provider."""

    bucket: BucketContext
    reading: Any
    writing: Any
    """Differs in its patience only."""
    creating: Any
    """What create-only puts go through: the same as `writing` but for OSS."""
    create_mode: str = "create"
    requests_around_parts: int = 2
    """Besides one for each part of an upload: one to begin it, one to complete it."""
    bulk_delete: bool = False
    page_size: int = 1000

    def __repr__(self) -> str:
        return f"<BucketClient {self.bucket.uri}>"


@dataclass(frozen=True)
class ClientSettings:
    """What a client is made from: the address, the connection, the timeouts and the environment."""

    address: StoreAddress
    connection: Connection
    patience: Patience
    environment: Mapping[str, str] = field(repr=False)

    def first(self, *names: str) -> str:
        """The first of these variables that is set."""
        return next((self.environment[name] for name in names if self.environment.get(name)), "")

    def is_set(self, *names: str) -> bool:
        return bool(self.first(*names))

    def says_yes(self, name: str) -> bool:
        return self.environment.get(name, "").lower() in {"1", "true", "yes", "on", "y", "t"}


def build(kind: str, settings: ClientSettings, config: dict[str, Any], *, writing: bool, **more: Any) -> Any:
    """The obstore object; what it does not accept is a mistake in the settings."""
    obstore = obstore_of_this_process()
    classes: dict[str, Any] = {
        "s3": obstore.store.S3Store,
        "oss": obstore.store.S3Store,
        "gs": obstore.store.GCSStore,
        "az": obstore.store.AzureStore,
    }
    options = settings.patience.client_options(writing=writing) | more.pop("client_options", {})
    if str(config.get("endpoint") or config.get("base_url") or "").startswith("http://"):
        options["allow_http"] = True
    try:
        return classes[kind](
            settings.address.bucket,
            config=config,
            client_options=options,
            retry_config=settings.patience.retry_config(),
            **more,
        )
    except AboardError:
        raise
    except (obstore.exceptions.BaseError, ValueError, OSError) as error:
        reason = parse_response(str(error)).first_line
        raise CredentialsMissing(
            f"{settings.address.uri}: the settings cannot be used: {reason}", hint=credentials_hint(kind)
        ) from None
    except BaseException as error:
        if not is_panic(error):
            raise
        raise InvalidValue(
            f"{settings.address.uri}: The obstore library failed on these settings ({error}).",
            hint="Check the endpoint, which must be a URL such as https://storage.example.com.",
        ) from None


def build_both(kind: str, settings: ClientSettings, config: dict[str, Any], **more: Any) -> tuple[Any, Any]:
    """One object for reading and one for writing."""
    return build(kind, settings, config, writing=False, **more), build(kind, settings, config, writing=True, **more)


def require_cloud_machine(settings: ClientSettings, metadata_service: str = "") -> None:
    """Only a machine inside a cloud can ask for credentials it was not given; elsewhere obstore would try for long."""
    parts = urlsplit(metadata_service or METADATA_SERVICE)
    try:
        socket.create_connection((parts.hostname or "", parts.port or 80), PROBE_SECONDS).close()
    except OSError:
        raise no_credentials(settings) from None


def no_credentials(settings: ClientSettings) -> CredentialsMissing:
    """What is said where no credentials were found."""
    hint = credentials_hint(settings.address.kind)
    return CredentialsMissing(f"{settings.address.uri}: no credentials were found.", hint=hint)
