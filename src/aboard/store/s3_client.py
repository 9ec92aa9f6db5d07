# SPDX-License-Identifier: Apache-2.0
"""Amazon S3 and everything that speaks its API: endpoint, region, addressing, and where the credentials come from."""

from __future__ import annotations

import ipaddress
from typing import Any
from urllib.parse import urlsplit

from aboard.errors import InvalidValue
from aboard.store.aws_profile import AwsProfile, Login, read_profile
from aboard.store.clients import METADATA_SERVICE, Client, Settings, build_both, no_credentials, require_cloud_machine
from aboard.store.provider_errors import Place

_OTHER_SOURCES = (
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
)


def make(settings: Settings) -> Client:
    """The client of an s3:// address."""
    connection, address = settings.connection, settings.address
    profile = _profile(settings)
    region = connection.region or settings.first("AWS_REGION", "AWS_DEFAULT_REGION")
    region = region or (profile.region if profile else "") or "us-east-1"
    endpoint = connection.endpoint or settings.first("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
    endpoint = endpoint or (profile.endpoint if profile else "") or _other_writers_endpoint(settings)
    config: dict[str, Any] = {"region": region} | addressing(settings, endpoint)
    provider = _credentials(settings, profile)
    if _anonymous(settings):
        config["skip_signature"] = True
    elif provider is None and not settings.is_set("AWS_ACCESS_KEY_ID", *_OTHER_SOURCES):
        if settings.says_yes("AWS_EC2_METADATA_DISABLED"):
            raise no_credentials(settings)
        service = settings.first("AWS_METADATA_ENDPOINT", "AWS_EC2_METADATA_SERVICE_ENDPOINT") or METADATA_SERVICE
        require_cloud_machine(settings, service)
        config["metadata_endpoint"] = service
    more = {"credential_provider": provider} if provider and not _anonymous(settings) else {}
    reading, writing = build_both("s3", settings, config, **more)
    place = Place("s3", address.uri, address.bucket, region, login=provider)
    return Client(place, reading, writing, writing, bulk_delete=not settings.says_yes("AWS_DISABLE_BULK_DELETE"))


def _other_writers_endpoint(settings: Settings) -> str:
    """`S3_ENDPOINT`: an address for tensorboardX, host and port for TensorFlow; `S3_USE_HTTPS=0` means plain HTTP."""
    endpoint = settings.first("S3_ENDPOINT")
    if not endpoint or "://" in endpoint:
        return endpoint
    return f"http://{endpoint}" if settings.first("S3_USE_HTTPS") == "0" else f"https://{endpoint}"


def addressing(settings: Settings, endpoint: str, *, usual: str = "") -> dict[str, Any]:
    """Where the bucket stands in URLs, and the endpoint that fits; both override what obstore would read itself."""
    style = settings.connection.addressing
    if style == "auto":
        virtual = settings.says_yes("AWS_VIRTUAL_HOSTED_STYLE_REQUEST") and not usual
        # A bucket with dots does not fit the certificate of *.s3.amazonaws.com.
        at_amazon = not endpoint and "." not in settings.address.bucket
        style = usual or ("virtual" if virtual or at_amazon else "path")
    config: dict[str, Any] = {"virtual_hosted_style_request": style == "virtual"}
    if endpoint:
        if style == "virtual":
            _check_host(settings, endpoint)
        endpoint = with_bucket(endpoint, settings.address.bucket) if style == "virtual" else endpoint
        config |= {"endpoint": endpoint, "aws_endpoint_url_s3": endpoint}
    return config


def _check_host(settings: Settings, endpoint: str) -> None:
    """The bucket becomes part of the host name, which an IP address cannot have: obstore would panic."""
    try:
        host = urlsplit(endpoint).hostname or ""
        ipaddress.ip_address(host)
    except ValueError:
        return
    kind = settings.address.kind
    example = ", such as https://oss-cn-hangzhou.aliyuncs.com" if kind == "oss" else ""
    raise InvalidValue(
        f"{settings.address.uri}: The endpoint is the IP address {host}, which cannot have the bucket before it.",
        hint=f"Give the endpoint a host name{example}. For other S3-compatible servers use s3:// and AWS_ENDPOINT_URL.",
    )


def with_bucket(endpoint: str, bucket: str) -> str:
    """The endpoint with the bucket before its host."""
    parts = urlsplit(endpoint)
    host = parts.netloc if parts.netloc.startswith(f"{bucket}.") else f"{bucket}.{parts.netloc}"
    return f"{parts.scheme}://{host}{parts.path}".rstrip("/")


def fixed_credentials(key_id: str, secret: str, token: str) -> Login:
    """Credentials that are exactly these, whatever the environment holds besides."""
    fixed = {"access_key_id": key_id, "secret_access_key": secret, "token": token or None, "expires_at": None}
    return Login(lambda: fixed)


def _anonymous(settings: Settings) -> bool:
    return settings.connection.anonymous or settings.says_yes("AWS_SKIP_SIGNATURE")


def _profile(settings: Settings) -> AwsProfile | None:
    """A profile that was named counts always; the usual one only where the environment has no keys."""
    named = settings.connection.profile or settings.first("AWS_PROFILE", "AWS_DEFAULT_PROFILE")
    if not named and (_anonymous(settings) or settings.connection.key_id or settings.is_set("AWS_ACCESS_KEY_ID")):
        return None
    return read_profile(settings.connection.profile, settings.environment)


def _credentials(settings: Settings, profile: AwsProfile | None) -> Login | None:
    """In the order of AWS's own tools: what was passed, then the environment, then the usual profile."""
    connection = settings.connection
    if connection.key_id:
        return fixed_credentials(connection.key_id, connection.secret, connection.session_token)
    if profile and (connection.profile or not settings.is_set("AWS_ACCESS_KEY_ID", *_OTHER_SOURCES)):
        return profile.login()
    return None
