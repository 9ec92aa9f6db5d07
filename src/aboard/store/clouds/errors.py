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
    """Asks for credentials, and remembers why there were none: obstore passes on only the text of an error."""

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
    """Which store an error is about."""

    kind: str
    uri: str
    bucket: str
    region: str = ""
    expires: float | None = None
    """When the credentials end, where that is known beforehand."""
    login: CredentialProvider | None = None


@dataclass(frozen=True)
class ProviderResponse:
    """What was recognised in the text of an error."""

    status: int
    code: str
    message: str
    region: str
    transport: str
    """Empty when the server answered; otherwise what went wrong on the way."""
    about_credentials: bool
    first_line: str

    @property
    def words(self) -> str:
        shown = " ".join(filter(None, [str(self.status or ""), self.code]))
        return f"{shown}: {self.message}" if shown and self.message else shown or self.message or self.first_line


def parse_response(text: str) -> ProviderResponse:
    """Recognise the parts of the text of an obstore error."""
    said, _, debug = text.partition("\n\nDebug source:")
    status = re.search(r"status code: (\d{3})", said)
    code = re.search(r"<Code>([^<]+)</Code>|\(code: (\w+)\)|\"error\"\s*:\s*\"(\w+)\"", said)
    message = re.search(r"<Message>([^<]*)</Message>|\"error_description\"\s*:\s*\"([^\"]*)\"", said)
    detail = re.search(r"<AuthenticationErrorDetail>([^<]*)<", said)
    region = re.search(r"<Region>([^<]+)</Region>|expecting '([^']+)'", said)
    said_code = _first_group(code)
    words = " ".join(_first_group(message).split()).split(" RequestId:")[0]
    return ProviderResponse(
        status=int(status[1]) if status else int(said_code) if said_code.isdigit() else 0,
        code="" if said_code.isdigit() else said_code,
        message=f"{words} {_first_group(detail)}".strip(),
        region=_first_group(region),
        transport="" if status else _transport(said, debug),
        about_credentials=bool(_METADATA.search(said)) or "token request" in said,
        first_line=_without_queries(said.strip().split("\n")[0])[:300],
    )


def translate(error: BaseException, place: BucketContext, action: str, key: str = "") -> StoreError:
    """The error of the store for what obstore raised; `action` is read, list, write, create or delete."""
    if place.login and place.login.failure and "credential provider" in str(error):
        return type(place.login.failure)(place.login.failure.message, hint=place.login.failure.hint)
    answer = parse_response(str(error))
    name = type(error).__name__
    if action == "create" and name in {"AlreadyExistsError", "PreconditionError"} and answer.code not in _NO_BUCKET:
        return errors.KeyExists(f"{key} exists already in {place.uri}.")
    action = "write" if action == "create" else action
    for recognise in (_credentials, _missing_bucket_or_wrong_region, _full, _permission, _object_errors, _unreachable):
        if found := recognise(answer, name, place, action, key):
            return found
    hint = ""
    if "object with invalid path" in answer.first_line:
        hint = "Rename or delete that object, or open a prefix that does not contain it."
    return StoreError(f"{place.uri}: could not {action} {key or 'it'}: {answer.words}.", hint=hint)


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


def _credentials(answer: ProviderResponse, _: str, place: BucketContext, action: str, __: str) -> StoreError | None:
    hint = _CREDENTIALS[place.kind]
    if answer.about_credentials and (answer.transport or answer.status in {0, 400, 401, 403, 404}):
        if answer.code == "invalid_grant" or "expired" in answer.message.lower():
            return errors.CredentialsExpired(f"{place.uri}: the credentials have expired ({answer.words}).", hint=hint)
        return errors.CredentialsMissing(f"{place.uri}: no usable credentials were found.", hint=hint)
    refused = answer.code in _REFUSED or "failed to authenticate" in answer.message.lower()
    if answer.status == 401 and not answer.code:
        refused = True
    if answer.code in _EXPIRED or (refused and _has_ended(answer, place)):
        return errors.CredentialsExpired(f"{place.uri}: the credentials have expired ({answer.words}).", hint=hint)
    if refused:
        return errors.CredentialsRefused(f"{place.uri}: the credentials are not accepted ({answer.words}).", hint=hint)
    if answer.code == "RequestTimeTooSkewed":
        return errors.CredentialsRefused(
            f"{place.uri}: the clock of this machine is wrong ({answer.words}).", hint="Set it, for example with NTP."
        )
    return None


def _has_ended(answer: ProviderResponse, place: BucketContext) -> bool:
    said = answer.message.lower()
    known = place.expires is not None and place.expires < time.time()
    return known or "expired" in said or "not valid in the specified time frame" in said or "lifetime" in said


def _missing_bucket_or_wrong_region(
    answer: ProviderResponse, name: str, place: BucketContext, action: str, _: str
) -> StoreError | None:
    if answer.code in _REGION or "incorrectly configured region" in answer.first_line or answer.status in {301, 307}:
        there = f"in {answer.region}" if answer.region else "in another region"
        wanted = answer.region or "the region of the bucket"
        variable = {"oss": "OSS_ENDPOINT", "gs": "GOOGLE_BASE_URL"}.get(place.kind, "AWS_REGION")
        return errors.WrongRegion(
            f"{place.uri}: the bucket {place.bucket} is {there}, and {place.region or 'another one'} was asked.",
            hint=f"Set {variable} to {wanted}.",
        )
    nowhere = answer.status == 404 and not answer.code and action in {"list", "write"}
    if answer.code in _NO_BUCKET or nowhere:
        what = "container" if place.kind == "az" else "bucket"
        return errors.NoSuchStore(
            f"{place.uri}: there is no {what} {place.bucket}.",
            hint=f"Check the name, the account and the endpoint, or create the {what}; aboard does not create any.",
        )
    return None


def _full(answer: ProviderResponse, _: str, place: BucketContext, __: str, ___: str) -> StoreError | None:
    if answer.code in _FULL or answer.status == 507:
        return errors.StoreFull(f"{place.uri}: {answer.words}.", hint="Make room, or ask for a larger quota.")
    return None


def _permission(answer: ProviderResponse, name: str, place: BucketContext, action: str, key: str) -> StoreError | None:
    denied = answer.status in {401, 403} or name in {"PermissionDeniedError", "UnauthenticatedError"}
    if not denied and answer.code not in {"AccessDenied", "AuthorizationPermissionMismatch"}:
        return None
    right = _RIGHTS[place.kind][action]
    what = key or f"everything in {place.bucket}"
    reason = f" ({answer.words})" if answer.code else ""
    return errors.AccessDenied(
        f"{place.uri}: no permission to {action} {what}{reason}.",
        hint=f"The permission is called {right}; credentials that were meant for another bucket give the same answer.",
    )


def _object_errors(
    answer: ProviderResponse, name: str, place: BucketContext, action: str, key: str
) -> StoreError | None:
    if action in {"read", "delete"} and (answer.status == 404 or name == "FileNotFoundError"):
        return errors.KeyNotFound(f"There is no {key} in {place.uri}.")
    return None


def _unreachable(answer: ProviderResponse, _: str, place: BucketContext, action: str, key: str) -> StoreError | None:
    if answer.transport:
        return errors.StoreUnreachable(
            f"{place.uri} cannot be reached: {answer.transport}.",
            hint="Check the network, the endpoint and, behind a proxy, HTTPS_PROXY.",
        )
    if answer.status >= 500 or answer.status in {408, 429}:
        return errors.StoreUnreachable(
            f"{place.uri}: the server could not {action} {key or 'it'} ({answer.words}).",
            hint="The service failed, not your settings; check its status if this lasts.",
        )
    return None


def _transport(said: str, debug: str) -> str:
    """In words, why no answer came; empty if that is not what happened."""
    if "dns error" in debug or "failed to lookup address" in debug:
        host = re.search(r"https?://([^/\s:]+)", said)
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
        r"HTTP error|error sending request|error decoding response body|kind: (Body|Request|Decode)", said + debug
    ):
        return "the connection broke"
    return ""


def _without_queries(text: str) -> str:
    return re.sub(r"\?[^\s\"')]*", "?…", text)


def _first_group(match: re.Match[str] | None) -> str:
    return next((group for group in match.groups() if group), "") if match else ""
