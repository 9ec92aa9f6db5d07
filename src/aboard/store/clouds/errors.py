# SPDX-License-Identifier: Apache-2.0
"""Errors of object stores: a missing bucket, refused credentials, a wrong region, a full or unreachable store.

Each error has a next step and holds no secret. obstore gives a class and a text. The text holds the status, the
provider's document (XML with Code and Message) and the failure of the transport; only what was recognised of it is
shown, because URLs may hold signatures.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import parse_qs

from aboard import errors
from aboard.errors import StoreError


class CredentialProvider:
    """Gives obstore credentials, and keeps the error when there are none: obstore passes on only its text."""

    def __init__(self, ask: Callable[[], dict[str, Any]]) -> None:
        self._ask = ask
        self.failure: StoreError | None = None

    def __call__(self) -> dict[str, Any]:
        try:
            return self._ask()
        except StoreError as error:
            self.failure = error
            raise


_NO_BUCKET = {"NoSuchBucket", "ContainerNotFound", "ContainerBeingDeleted", "ContainerDisabled", "InvalidBucketName"}
_EXPIRED = {"ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "RequestExpired", "SecurityTokenExpired"}
_REFUSED = {
    "InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "InvalidSecurity", "AuthenticationFailed",
    "InvalidAuthenticationInfo", "InvalidClientTokenId", "UnrecognizedClientException", "AuthenticationRequired",
    "InvalidSecurityToken", "NoAuthenticationInformation",
}  # fmt: skip
_REGION = {
    "PermanentRedirect",
    "AuthorizationHeaderMalformed",
    "IllegalLocationConstraintException",
    "TemporaryRedirect",
}
_FULL = {"QuotaExceeded", "InsufficientStorage", "XMinioStorageFull", "InsufficientAccountQuota"}
_METADATA = re.compile(
    r"latest/api/token|security-credentials|computeMetadata|metadata/identity|api-version=2019-08-01&resource"
)
_CREDENTIALS = {
    "s3": "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or for public data AWS_SKIP_SIGNATURE=1.",
    "gs": "Set GOOGLE_APPLICATION_CREDENTIALS, or run: gcloud auth application-default login.",
    "az": "Set AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY, AZURE_STORAGE_SAS_TOKEN or "
    "AZURE_STORAGE_CONNECTION_STRING, or AZURE_USE_AZURE_CLI=true after az login.",
    "oss": "Set OSS_ACCESS_KEY_ID and OSS_ACCESS_KEY_SECRET.",
}
_RIGHTS = {
    "s3": {"read": "s3:GetObject", "list": "s3:ListBucket", "write": "s3:PutObject", "delete": "s3:DeleteObject"},
    "gs": {"read": "storage.objects.get", "list": "storage.objects.list", "write": "storage.objects.create",
           "delete": "storage.objects.delete"},
    "az": {"read": "Read", "list": "List", "write": "Create and Write", "delete": "Delete"},
    "oss": {"read": "oss:GetObject", "list": "oss:ListObjects", "write": "oss:PutObject", "delete": "oss:DeleteObject"},
}  # fmt: skip


@dataclass(frozen=True)
class BucketContext:
    """The bucket that an error is about."""

    kind: str
    uri: str
    name: str
    region: str = ""
    expires: float | None = None
    """When the credentials end, where that is known beforehand."""
    credentials: CredentialProvider | None = None


@dataclass(frozen=True)
class ProviderResponse:
    """The parts of a provider's response that were recognised in the text of an error."""

    status: int
    code: str
    message: str
    region: str
    transport: str
    """Empty when the server responded; otherwise the failure of the transport."""
    about_credentials: bool
    first_line: str

    @property
    def words(self) -> str:
        shown = " ".join(filter(None, [str(self.status or ""), self.code]))
        return f"{shown}: {self.message}" if shown and self.message else shown or self.message or self.first_line


def parse_response(text: str) -> ProviderResponse:
    """Recognise the parts of the text of an obstore error."""
    report, _, debug = text.partition("\n\nDebug source:")
    status = re.search(r"status code: (\d{3})", report)
    code = re.search(r"<Code>([^<]+)</Code>|\(code: (\w+)\)|\"error\"\s*:\s*\"(\w+)\"", report)
    message = re.search(r"<Message>([^<]*)</Message>|\"error_description\"\s*:\s*\"([^\"]*)\"", report)
    detail = re.search(r"<AuthenticationErrorDetail>([^<]*)<", report)
    region = re.search(r"<Region>([^<]+)</Region>|expecting '([^']+)'", report)
    code_text = _first_group(code)
    words = " ".join(_first_group(message).split()).split(" RequestId:")[0]
    return ProviderResponse(
        status=int(status[1]) if status else int(code_text) if code_text.isdigit() else 0,
        code="" if code_text.isdigit() else code_text,
        message=f"{words} {_first_group(detail)}".strip(),
        region=_first_group(region),
        transport="" if status else _transport(report, debug),
        about_credentials=bool(_METADATA.search(report)) or "token request" in report,
        first_line=_without_queries(report.strip().split("\n")[0])[:300],
    )


def translate(error: BaseException, bucket: BucketContext, action: str, key: str = "") -> StoreError:
    """The error of the store for what obstore raised; `action` is read, list, write, create or delete."""
    if bucket.credentials and bucket.credentials.failure and "credential provider" in str(error):
        return type(bucket.credentials.failure)(
            bucket.credentials.failure.message, hint=bucket.credentials.failure.hint
        )
    response = parse_response(str(error))
    name = type(error).__name__
    if action == "create" and name in {"AlreadyExistsError", "PreconditionError"} and response.code not in _NO_BUCKET:
        return errors.KeyExists(f"{key} exists already in {bucket.uri}.")
    action = "write" if action == "create" else action
    for recognise in (_credentials, _wrong_region, _missing_bucket, _full, _permission, _object_errors, _unreachable):
        if found := recognise(response, name, bucket, action, key):
            return found
    hint = ""
    if "object with invalid path" in response.first_line:
        hint = "Rename or delete that object, or open a prefix that does not contain it."
    return StoreError(f"{bucket.uri}: could not {action} {key or 'it'}: {response.words}.", hint=hint)


def is_beyond_end(error: BaseException) -> bool:
    """Whether a range was asked that begins after the last byte."""
    text = str(error)
    return "status code: 416" in text or "Wanted range starting at" in text


def is_conflict(error: BaseException) -> bool:
    """Whether two writers met at the same moment, so that neither of them knows whether the object exists."""
    return parse_response(str(error)).code in {"ConditionalRequestConflict", "OperationAborted"}


def expiry_of_shared_access(token: str) -> float | None:
    """When a shared access signature ends."""
    ends = parse_qs(token.lstrip("?")).get("se", [""])[0]
    try:
        return datetime.fromisoformat(ends.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None


def credentials_hint(kind: str) -> str:
    """How a person gives credentials for this kind of store."""
    return _CREDENTIALS[kind]


def _credentials(response: ProviderResponse, _: str, bucket: BucketContext, action: str, __: str) -> StoreError | None:
    hint = _CREDENTIALS[bucket.kind]
    if response.about_credentials and (response.transport or response.status in {0, 400, 401, 403, 404}):
        if response.code == "invalid_grant" or "expired" in response.message.lower():
            return errors.CredentialsExpired(
                f"{bucket.uri}: the credentials have expired ({response.words}).", hint=hint
            )
        return errors.CredentialsMissing(f"{bucket.uri}: no usable credentials were found.", hint=hint)
    refused = response.code in _REFUSED or "failed to authenticate" in response.message.lower()
    if response.status == 401 and not response.code:
        refused = True
    if response.code in _EXPIRED or (refused and _has_ended(response, bucket)):
        return errors.CredentialsExpired(f"{bucket.uri}: the credentials have expired ({response.words}).", hint=hint)
    if refused:
        return errors.CredentialsRefused(
            f"{bucket.uri}: the credentials are not accepted ({response.words}).", hint=hint
        )
    if response.code == "RequestTimeTooSkewed":
        return errors.CredentialsRefused(
            f"{bucket.uri}: the clock of this machine is wrong ({response.words}).",
            hint="Set it, for example with NTP.",
        )
    return None


def _has_ended(response: ProviderResponse, bucket: BucketContext) -> bool:
    report = response.message.lower()
    known = bucket.expires is not None and bucket.expires < time.time()
    return known or "expired" in report or "not valid in the specified time frame" in report or "lifetime" in report


def _wrong_region(response: ProviderResponse, _: str, bucket: BucketContext, __: str, ___: str) -> StoreError | None:
    if (
        response.code in _REGION
        or "incorrectly configured region" in response.first_line
        or response.status in {301, 307}
    ):
        there = f"in {response.region}" if response.region else "in another region"
        wanted = response.region or "the region of the bucket"
        variable = {"oss": "OSS_ENDPOINT", "gs": "GOOGLE_BASE_URL"}.get(bucket.kind, "AWS_REGION")
        return errors.WrongRegion(
            f"{bucket.uri}: the bucket {bucket.name} is {there}, and {bucket.region or 'another one'} was asked.",
            hint=f"Set {variable} to {wanted}.",
        )
    return None


def _missing_bucket(
    response: ProviderResponse, _: str, bucket: BucketContext, action: str, __: str
) -> StoreError | None:
    nowhere = response.status == 404 and not response.code and action in {"list", "write"}
    if response.code in _NO_BUCKET or nowhere:
        what = "container" if bucket.kind == "az" else "bucket"
        return errors.NoSuchStore(
            f"{bucket.uri}: there is no {what} {bucket.name}.",
            hint=f"Check the name, the account and the endpoint, or create the {what}; aboard does not create any.",
        )
    return None


def _full(response: ProviderResponse, _: str, bucket: BucketContext, __: str, ___: str) -> StoreError | None:
    if response.code in _FULL or response.status == 507:
        return errors.StoreFull(f"{bucket.uri}: {response.words}.", hint="Make room, or ask for a larger quota.")
    return None


def _permission(
    response: ProviderResponse, name: str, bucket: BucketContext, action: str, key: str
) -> StoreError | None:
    denied = response.status in {401, 403} or name in {"PermissionDeniedError", "UnauthenticatedError"}
    if not denied and response.code not in {"AccessDenied", "AuthorizationPermissionMismatch"}:
        return None
    right = _RIGHTS[bucket.kind][action]
    what = key or f"everything in {bucket.name}"
    reason = f" ({response.words})" if response.code else ""
    return errors.AccessDenied(
        f"{bucket.uri}: no permission to {action} {what}{reason}.",
        hint=f"The permission is called {right}; credentials that were meant for another bucket give the same answer.",
    )


def _object_errors(
    response: ProviderResponse, name: str, bucket: BucketContext, action: str, key: str
) -> StoreError | None:
    if action in {"read", "delete"} and (response.status == 404 or name == "FileNotFoundError"):
        return errors.KeyNotFound(f"There is no {key} in {bucket.uri}.")
    return None


def _unreachable(response: ProviderResponse, _: str, bucket: BucketContext, action: str, key: str) -> StoreError | None:
    if response.transport:
        return errors.StoreUnreachable(
            f"{bucket.uri} cannot be reached: {response.transport}.",
            hint="Check the network, the endpoint and, behind a proxy, HTTPS_PROXY.",
        )
    if response.status >= 500 or response.status in {408, 429}:
        return errors.StoreUnreachable(
            f"{bucket.uri}: the server could not {action} {key or 'it'} ({response.words}).",
            hint="The service failed, not your settings; check its status if this lasts.",
        )
    return None


def _transport(report: str, debug: str) -> str:
    """In words, why no response came; empty if that is not what happened."""
    if "dns error" in debug or "failed to lookup address" in debug:
        host = re.search(r"https?://([^/\s:]+)", report)
        return f"the name {host[1]} is not known" if host else "its name is not known"
    if "ConnectionRefused" in debug:
        return "the connection was refused"
    if "certificate" in debug.lower() or "TlsError" in debug:
        return "its TLS certificate is not accepted"
    if "TimedOut" in debug or "kind: Timeout" in debug or "timed out" in debug:
        return "no answer came in time"
    if "NetworkUnreachable" in debug or "HostUnreachable" in debug:
        return "there is no way to its network"
    if re.search(
        r"IncompleteMessage|ConnectionReset|BrokenPipe|UnexpectedEof|end of file|kind: (Connect|Interrupted)", debug
    ):
        return "the connection broke"
    if re.search(
        r"HTTP error|error sending request|error decoding response body|kind: (Body|Request|Decode)", report + debug
    ):
        return "the connection broke"
    return ""


def _without_queries(text: str) -> str:
    return re.sub(r"\?[^\s\"')]*", "?…", text)


def _first_group(match: re.Match[str] | None) -> str:
    return next((group for group in match.groups() if group), "") if match else ""
