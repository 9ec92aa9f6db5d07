# SPDX-License-Identifier: Apache-2.0
"""Alibaba Cloud OSS through its S3-compatible API, with the bucket before the host and its own way to create.

Nothing of AWS_* is used, so that a session token of one cloud is never sent to the other. OSS refuses `If-None-Match`
on puts and offers the header x-oss-forbid-overwrite instead; obstore sends headers per client, hence a second client.
OSS ignores that header in buckets with versioning.
"""

from __future__ import annotations

import re
from typing import Any

from aboard.errors import InvalidValue
from aboard.store.clouds.client import BucketClient, ClientSettings, build, build_both, no_credentials
from aboard.store.clouds.errors import BucketContext, CredentialProvider
from aboard.store.clouds.s3 import addressing, fixed_credentials

_REGION = re.compile(r"(?:^|[./])oss-([a-z0-9-]+?)(-internal)?\.aliyuncs\.com")


def make(settings: ClientSettings) -> BucketClient:
    region, endpoint = _region(settings), _endpoint(settings)
    found = _REGION.search(endpoint)
    region = region or (found[1] if found else "") or "oss"
    config: dict[str, Any] = {
        "region": region,
        "skip_signature": settings.connection.anonymous,
        "disable_bulk_delete": True,
        "s3_express": False,
        "request_payer": False,
        "disable_tagging": True,
        "unsigned_payload": False,
    } | addressing(settings, endpoint, usual="virtual")
    more = {} if settings.connection.anonymous else {"credential_provider": _credentials(settings)}
    reading, writing = build_both("oss", settings, config, **more)
    headers = {"default_headers": {"x-oss-forbid-overwrite": "true"}}
    creating = build("oss", settings, config, writing=True, client_options=headers, **more)
    place = BucketContext("oss", settings.address.uri, settings.address.bucket, region)
    return BucketClient(place, reading, writing, creating, create_mode="overwrite")


def _region(settings: ClientSettings) -> str:
    return (settings.connection.region or settings.first("OSS_REGION")).removeprefix("oss-")


def _endpoint(settings: ClientSettings) -> str:
    endpoint = settings.connection.endpoint or settings.address.endpoint or settings.first("OSS_ENDPOINT")
    if endpoint:
        return endpoint if "://" in endpoint else f"https://{endpoint}"
    if region := _region(settings):
        return f"https://s3.oss-{region}.aliyuncs.com"
    raise InvalidValue(
        f"{settings.address.uri}: it is not known in which region the bucket is.",
        hint="Set OSS_ENDPOINT, such as https://oss-cn-hangzhou.aliyuncs.com, or OSS_REGION, such as cn-hangzhou.",
    )


def _credentials(settings: ClientSettings) -> CredentialProvider:
    connection = settings.connection
    key_id = connection.key_id or settings.first("OSS_ACCESS_KEY_ID")
    secret = connection.secret or settings.first("OSS_ACCESS_KEY_SECRET")
    if not key_id or not secret:
        raise no_credentials(settings)
    token = connection.session_token if connection.key_id else settings.first("OSS_SESSION_TOKEN")
    return fixed_credentials(key_id, secret, token)
