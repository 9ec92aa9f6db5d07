# SPDX-License-Identifier: Apache-2.0
"""Every kind of store behind one question: open an empty one, with any of the options of `open_store`."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from aboard.store import Store, open_store
from support.clouds import use
from support.object_servers import AzureServer, S3Server
from support.xml_buckets import OSS_TOKEN, GcsService, OssService, bucket_service

KINDS = ("folder", "memory", "s3", "azure", "gcs", "oss")
Open = Callable[..., Store]


@contextlib.contextmanager
def opener(kind: str, request: pytest.FixtureRequest, patch: pytest.MonkeyPatch, folder: Path) -> Iterator[Open]:
    """Opens the same, at first empty, store each time it is called."""
    name = uuid.uuid4().hex
    with contextlib.ExitStack() as stack:
        uri = _uri(kind, request, patch, folder, name, stack)

        def open_it(**options: Any) -> Store:
            if kind == "folder":
                options.setdefault("create", True)
            return open_store(uri, **options)

        yield open_it


def _uri(
    kind: str,
    request: pytest.FixtureRequest,
    patch: pytest.MonkeyPatch,
    folder: Path,
    name: str,
    stack: contextlib.ExitStack,
) -> str:
    if kind == "folder":
        return str(folder / "store" / name)
    if kind == "memory":
        return f"memory://{name}/some/prefix"
    if kind == "s3":
        server: S3Server = request.getfixturevalue("s3_server")
        use(patch, server.environment())
        return f"s3://contract/{name}"
    if kind == "azure":
        azure: AzureServer = request.getfixturevalue("azure_server")
        use(patch, azure.environment())
        return f"az://contract/{name}"
    if kind == "gcs":
        gcs = stack.enter_context(bucket_service(GcsService({"contract": {}})))
        use(patch, {"GOOGLE_BASE_URL": gcs.endpoint, "GOOGLE_BEARER_TOKEN": "writer-token"})
        return f"gs://contract/{name}"
    oss = stack.enter_context(bucket_service(OssService({"contract": {}})))
    use(patch, oss_environment(oss))
    return f"oss://contract/{name}"


def oss_environment(oss: OssService) -> dict[str, str]:
    """OSS's own variables; the service is reached as an HTTP proxy, because no name leads to it."""
    return {
        "OSS_ENDPOINT": f"http://{OssService.domain}",
        "OSS_REGION": "cn-hangzhou",
        "OSS_ACCESS_KEY_ID": "oss-id",
        "OSS_ACCESS_KEY_SECRET": "oss-secret-5d10",
        "OSS_SESSION_TOKEN": OSS_TOKEN,
        "HTTP_PROXY": oss.endpoint,
    }
