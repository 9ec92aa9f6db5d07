# SPDX-License-Identifier: Apache-2.0
"""Amazon S3 and every service with its API: endpoint, region, addressing, credentials and AWS profiles.

Profiles come from ~/.aws/credentials and ~/.aws/config, which obstore does not read. Static keys are used as they are.
For `credential_process` the named command runs; for single sign-on, assumed roles and other kinds of login the AWS
command line runs, which knows all of them.
"""

from __future__ import annotations

import configparser
import ipaddress
import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from aboard.errors import CredentialsExpired, CredentialsMissing, InvalidValue
from aboard.store.clouds.client import (
    METADATA_SERVICE,
    BucketClient,
    ClientSettings,
    build_both,
    no_credentials,
    require_cloud_machine,
)
from aboard.store.clouds.errors import BucketContext, CredentialProvider

PROCESS_SECONDS = 60
_LOGINS = ("sso_session", "sso_start_url", "role_arn", "web_identity_token_file", "login_session")


@dataclass(frozen=True)
class AwsProfile:
    """What the files say under one name."""

    name: str
    values: Mapping[str, str] = field(repr=False)

    @property
    def region(self) -> str:
        return self.values.get("region", "")

    @property
    def endpoint(self) -> str:
        return self.values.get("endpoint_url", "")

    def credentials(self) -> CredentialProvider | None:
        """Where obstore gets credentials whenever it needs some; None if the profile has none."""
        if self.values.get("aws_access_key_id"):
            static = _static(self.values)
            return CredentialProvider(lambda: static)
        if command := self.values.get("credential_process"):
            return CredentialProvider(lambda: _from_process(shlex.split(command), self.name))
        if any(name in self.values for name in _LOGINS):
            return CredentialProvider(lambda: _from_process(_aws_command(self.name), self.name))
        return None


def read_profile(name: str, environment: Mapping[str, str]) -> AwsProfile | None:
    """The profile of this name; without a name the usual one, or None if the files have none."""
    wanted = name or environment.get("AWS_PROFILE") or environment.get("AWS_DEFAULT_PROFILE") or "default"
    values: dict[str, str] = {}
    for variable, usual, section in (
        ("AWS_CONFIG_FILE", "config", wanted if wanted == "default" else f"profile {wanted}"),
        ("AWS_SHARED_CREDENTIALS_FILE", "credentials", wanted),
    ):
        path = Path(environment.get(variable) or Path.home() / ".aws" / usual).expanduser()
        values |= _section(path, section)
    if not values and wanted != "default":
        raise CredentialsMissing(
            f"There is no AWS profile {wanted!r}.",
            hint="Look at ~/.aws/config and ~/.aws/credentials, or unset AWS_PROFILE.",
        )
    return AwsProfile(wanted, values) if values else None


def _section(path: Path, name: str) -> dict[str, str]:
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(path.read_text("utf-8"), source=str(path))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise CredentialsMissing(f"{path} cannot be read: {error.strerror}.") from None
    except (configparser.Error, UnicodeDecodeError) as error:
        line = getattr(error, "lineno", None)
        where = f", line {line}" if line else ""
        raise InvalidValue(f"{path}{where} is not in the format of the AWS files.") from None
    return dict(parser[name]) if parser.has_section(name) else {}


def _static(values: Mapping[str, str]) -> dict[str, Any]:
    return {
        "access_key_id": values["aws_access_key_id"].strip(),
        "secret_access_key": values.get("aws_secret_access_key", "").strip(),
        "token": values.get("aws_session_token", "").strip() or None,
        "expires_at": None,
    }


def _aws_command(profile: str) -> list[str]:
    aws = shutil.which("aws")
    if aws is None:
        raise CredentialsMissing(
            f"The AWS profile {profile!r} needs the AWS command line to log in, and there is none.",
            hint='Install it, or run elsewhere: eval "$(aws configure export-credentials --format env)".',
        )
    return [aws, "configure", "export-credentials", "--profile", profile, "--format", "process"]


def _from_process(command: list[str], profile: str) -> dict[str, Any]:
    """Credentials that a command prints as JSON; its output is never shown."""
    hint = f"Try it by hand: {shlex.join(command)}"
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=PROCESS_SECONDS, check=True, env=os.environ, stdin=subprocess.DEVNULL
        )
        said = json.loads(done.stdout)
        expires = said.get("Expiration")
        return {
            "access_key_id": said["AccessKeyId"],
            "secret_access_key": said["SecretAccessKey"],
            "token": said.get("SessionToken"),
            "expires_at": datetime.fromisoformat(expires.replace("Z", "+00:00")) if expires else None,
        }
    except subprocess.CalledProcessError as error:
        raise CredentialsExpired(
            f"The login of the AWS profile {profile!r} failed with exit code {error.returncode}; it may have expired.",
            hint=hint,
        ) from None
    except (OSError, subprocess.TimeoutExpired, ValueError, KeyError, AttributeError) as error:
        reason = type(error).__name__
        raise CredentialsMissing(
            f"The command of the AWS profile {profile!r} gave no credentials ({reason}).", hint=hint
        ) from None


_OTHER_SOURCES = (
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
)


def make(settings: ClientSettings) -> BucketClient:
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
    place = BucketContext("s3", address.uri, address.bucket, region, credentials=provider)
    return BucketClient(place, reading, writing, writing, bulk_delete=not settings.says_yes("AWS_DISABLE_BULK_DELETE"))


def _other_writers_endpoint(settings: ClientSettings) -> str:
    """`S3_ENDPOINT`: an address for tensorboardX, host and port for TensorFlow; `S3_USE_HTTPS=0` means plain HTTP."""
    endpoint = settings.first("S3_ENDPOINT")
    if not endpoint or "://" in endpoint:
        return endpoint
    return f"http://{endpoint}" if settings.first("S3_USE_HTTPS") == "0" else f"https://{endpoint}"


def addressing(settings: ClientSettings, endpoint: str, *, usual: str = "") -> dict[str, Any]:
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


def _check_host(settings: ClientSettings, endpoint: str) -> None:
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


def fixed_credentials(key_id: str, secret: str, token: str) -> CredentialProvider:
    """Credentials that are exactly these, whatever the environment holds besides."""
    fixed = {"access_key_id": key_id, "secret_access_key": secret, "token": token or None, "expires_at": None}
    return CredentialProvider(lambda: fixed)


def _anonymous(settings: ClientSettings) -> bool:
    return settings.connection.anonymous or settings.says_yes("AWS_SKIP_SIGNATURE")


def _profile(settings: ClientSettings) -> AwsProfile | None:
    """A profile that was named counts always; the usual one only where the environment has no keys."""
    named = settings.connection.profile or settings.first("AWS_PROFILE", "AWS_DEFAULT_PROFILE")
    if not named and (_anonymous(settings) or settings.connection.key_id or settings.is_set("AWS_ACCESS_KEY_ID")):
        return None
    return read_profile(settings.connection.profile, settings.environment)


def _credentials(settings: ClientSettings, profile: AwsProfile | None) -> CredentialProvider | None:
    """In the order of AWS's own tools: what was passed, then the environment, then the usual profile."""
    connection = settings.connection
    if connection.key_id:
        return fixed_credentials(connection.key_id, connection.secret, connection.session_token)
    if profile and (connection.profile or not settings.is_set("AWS_ACCESS_KEY_ID", *_OTHER_SOURCES)):
        return profile.credentials()
    return None
