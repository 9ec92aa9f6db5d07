# SPDX-License-Identifier: Apache-2.0
"""Google Cloud Storage's XML API and OSS's S3-compatible API at the HTTP level, as their documentation describes them.

Neither provider has a server that runs here, so these stand in for the requests that obstore sends: objects, ranges,
conditions, listings, uploads in parts. What each checks is its provider's own: tokens of Google; the address, the
signature and the create-only header of OSS.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import itertools
import re
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import TypeVar
from urllib.parse import parse_qsl, quote, unquote, urlsplit
from xml.sax.saxutils import escape

from support.http_serving import AnyMethodHandler, serving

GCS_TOKENS = {"writer-token": "read write", "reader-token": "read"}
OSS_KEYS = {"oss-id": "oss-secret-5d10"}
OSS_TOKEN = "oss-session-token-33aa"


@dataclass
class Stored:
    data: bytes
    modified: float
    generation: int

    @property
    def etag(self) -> str:
        return f'"{hashlib.md5(self.data, usedforsecurity=False).hexdigest()}"'


@dataclass
class Refusal(Exception):
    status: int
    code: str
    message: str = "refused"


@dataclass
class BucketService(ABC):
    """The buckets of a provider, and what it was asked."""

    buckets: dict[str, dict[str, Stored]] = field(default_factory=dict)
    uploads: dict[str, dict[int, bytes]] = field(default_factory=dict)
    page: int = 1000
    ignores_start_after: bool = False
    port: int = 0
    headers_seen: list[dict[str, str]] = field(default_factory=list)
    lock: threading.RLock = field(default_factory=threading.RLock)
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def keep(self, bucket: str, key: str, data: bytes) -> None:
        """An object that some other program has put there."""
        self.buckets[bucket][key] = Stored(data, time.time(), next(self.numbers))

    @abstractmethod
    def check(self, call: _Call) -> None:
        """Raise a refusal if the provider would."""

    def locate(self, call: _Call) -> tuple[str, str]:
        bucket, _, key = call.path.lstrip("/").partition("/")
        return bucket, key

    @abstractmethod
    def forbids_overwriting(self, call: _Call) -> bool:
        """Whether the request is a create-only put, in the words of the provider."""


class GcsService(BucketService):
    """Google: bearer tokens, x-goog-if-generation-match."""

    def check(self, call: _Call) -> None:
        token = call.headers.get("authorization", "").removeprefix("Bearer ")
        if token == "expired-token":
            raise Refusal(400, "ExpiredToken", "The provided token has expired.")
        if not token:
            raise Refusal(401, "AuthenticationRequired", "Authentication required.")
        if token not in GCS_TOKENS:
            raise Refusal(403, "InvalidSecurity", "The provided security credentials are not valid.")
        if call.method not in {"GET", "HEAD"} and "write" not in GCS_TOKENS[token]:
            raise Refusal(403, "AccessDenied", "Access denied.")

    def forbids_overwriting(self, call: _Call) -> bool:
        if "if-none-match" in call.headers:
            raise Refusal(400, "InvalidArgument", "If-None-Match is not a condition of puts.")
        return call.headers.get("x-goog-if-generation-match") == "0"


class OssService(BucketService):
    """OSS: the bucket before the host, AWS signatures, x-oss-forbid-overwrite, a session token."""

    domain = "oss-cn-hangzhou.aliyuncs.test"

    def check(self, call: _Call) -> None:
        if call.host.removesuffix(":80") == self.domain:
            raise Refusal(403, "SecondLevelDomainForbidden", "Please use virtual hosted style to access.")
        if call.headers.get("x-amz-security-token") != OSS_TOKEN:
            raise Refusal(403, "InvalidSecurityToken", "The security token you provided is invalid.")
        found = re.fullmatch(
            r"AWS4-HMAC-SHA256 Credential=(.+?)/(\d+)/([^/]+)/s3/aws4_request, ?SignedHeaders=(.+?), ?Signature=(\w+)",
            call.headers.get("authorization", ""),
        )
        if found is None or found[1] not in OSS_KEYS:
            raise Refusal(
                403, "InvalidAccessKeyId", "The OSS Access Key Id you provided does not exist in our records."
            )
        if signature(call, OSS_KEYS[found[1]], found[2], found[3], found[4].split(";")) != found[5]:
            raise Refusal(403, "SignatureDoesNotMatch", "The request signature we calculated does not match.")

    def locate(self, call: _Call) -> tuple[str, str]:
        return call.host.removesuffix(f".{self.domain}"), call.path.lstrip("/")

    def forbids_overwriting(self, call: _Call) -> bool:
        if {"if-none-match", "if-match"} & set(call.headers):
            raise Refusal(501, "NotImplemented", "A header you provided implies functionality that is not implemented")
        return call.headers.get("x-oss-forbid-overwrite") == "true"


@dataclass(frozen=True)
class _Call:
    method: str
    host: str
    path: str
    raw_path: str
    query: dict[str, str]
    raw_query: str
    headers: dict[str, str]
    body: bytes


Answer = tuple[int, dict[str, str], bytes]


def signature(call: _Call, secret: str, day: str, region: str, signed: list[str]) -> str:
    """AWS signature version 4 of a request."""
    pairs = sorted((quote(name, safe="~"), quote(value, safe="~")) for name, value in call.query.items())
    query = "&".join(f"{name}={value}" for name, value in pairs)
    lines = "".join(f"{name}:{call.headers[name].strip()}\n" for name in signed)
    payload = call.headers["x-amz-content-sha256"]
    if payload not in {"UNSIGNED-PAYLOAD", hashlib.sha256(call.body).hexdigest()}:
        return "the body is another one"
    path = quote(call.path, safe="/~")
    canonical = f"{call.method}\n{path}\n{query}\n{lines}\n{';'.join(signed)}\n{payload}"
    scope = f"{day}/{region}/s3/aws4_request"
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    key = f"AWS4{secret}".encode()
    for part in (day, region, "s3", "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    text = f"AWS4-HMAC-SHA256\n{call.headers['x-amz-date']}\n{scope}\n{digest}"
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


class _Handler(AnyMethodHandler):
    service: BucketService

    def handle_any(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        host = headers.get("host", "")
        call = _Call(self.command, host, unquote(parts.path), parts.path, query, parts.query, headers, body)
        try:
            with self.service.lock:
                self.service.headers_seen.append(headers)
                self.service.check(call)
                status, more, content = self._route(call)
        except Refusal as refusal:
            xml = f"<Error><Code>{refusal.code}</Code><Message>{refusal.message}</Message></Error>"
            status, more, content = refusal.status, {"Content-Type": "application/xml"}, xml.encode()
        self.send_response_only(status)
        for name, value in more.items():
            self.send_header(name, value)
        if "Content-Length" not in more:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else content)

    def _route(self, call: _Call) -> Answer:
        bucket, key = self.service.locate(call)
        if bucket not in self.service.buckets:
            raise Refusal(404, "NoSuchBucket", "The specified bucket does not exist.")
        objects = self.service.buckets[bucket]
        if call.method == "GET" and not key:
            query = call.query | ({"start-after": ""} if self.service.ignores_start_after else {})
            return _listing(objects, query, self.service.page)
        if call.method in {"GET", "HEAD"}:
            return _read(objects, key, call)
        if "uploads" in call.query or "uploadId" in call.query:
            return self._in_parts(objects, key, call)
        if call.method == "PUT":
            return self._put(objects, key, call)
        if key not in objects and isinstance(self.service, GcsService):
            raise Refusal(404, "NoSuchKey", "The specified key does not exist.")
        objects.pop(key, None)
        return 204, {}, b""

    def _put(self, objects: dict[str, Stored], key: str, call: _Call) -> Answer:
        if self.service.forbids_overwriting(call) and key in objects:
            if isinstance(self.service, GcsService):
                raise Refusal(412, "PreconditionFailed", "At least one of the pre-conditions did not hold.")
            raise Refusal(
                409, "FileAlreadyExists", "The object you specified already exists and can not be overwritten."
            )
        stored = Stored(call.body, time.time(), next(self.service.numbers))
        objects[key] = stored
        return 200, {"ETag": stored.etag, "x-goog-generation": str(stored.generation)}, b""

    def _in_parts(self, objects: dict[str, Stored], key: str, call: _Call) -> Answer:
        uploads = self.service.uploads
        if "uploads" in call.query:
            name = f"upload-{next(self.service.numbers)}"
            uploads[name] = {}
            xml = f"<InitiateMultipartUploadResult><UploadId>{name}</UploadId></InitiateMultipartUploadResult>"
            return 200, {}, xml.encode()
        parts = uploads[call.query["uploadId"]]
        if call.method == "PUT":
            parts[int(call.query["partNumber"])] = call.body
            return 200, {"ETag": f'"part-{call.query["partNumber"]}"'}, b""
        del uploads[call.query["uploadId"]]
        if call.method == "DELETE":
            return 204, {}, b""
        wanted = [int(number) for number in re.findall(r"<PartNumber>(\d+)<", call.body.decode())]
        stored = Stored(b"".join(parts[number] for number in wanted), time.time(), next(self.service.numbers))
        objects[key] = stored
        xml = f"<CompleteMultipartUploadResult><ETag>{escape(stored.etag)}</ETag></CompleteMultipartUploadResult>"
        return 200, {"x-goog-generation": str(stored.generation)}, xml.encode()


def _read(objects: dict[str, Stored], key: str, call: _Call) -> Answer:
    if key not in objects:
        raise Refusal(404, "NoSuchKey", "The specified key does not exist.")
    stored = objects[key]
    headers = {
        "ETag": stored.etag,
        "Last-Modified": formatdate(stored.modified, usegmt=True),
        "x-goog-generation": str(stored.generation),
        "Content-Length": str(len(stored.data)),
    }
    if call.headers.get("if-none-match") == stored.etag:
        return 304, {**headers, "Content-Length": "0"}, b""
    if call.headers.get("if-match", stored.etag) != stored.etag:
        raise Refusal(412, "PreconditionFailed", "At least one of the pre-conditions did not hold.")
    if found := re.fullmatch(r"bytes=(\d+)-(\d*)", call.headers.get("range", "")):
        start, size = int(found[1]), len(stored.data)
        end = min(int(found[2]) + 1 if found[2] else size, size)
        if start >= size:
            raise Refusal(416, "InvalidRange", "The requested range cannot be satisfied.")
        content_range = {"Content-Range": f"bytes {start}-{end - 1}/{size}", "Content-Length": str(end - start)}
        return 206, headers | content_range, stored.data[start:end]
    return 200, headers, stored.data


def _listing(objects: dict[str, Stored], query: dict[str, str], page: int) -> Answer:
    assert query["list-type"] == "2"
    prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
    after = query.get("continuation-token") or query.get("start-after", "")
    rows: dict[str, str] = {}
    for key in sorted(key for key in objects if key.startswith(prefix)):
        rest = key[len(prefix) :]
        if delimiter and delimiter in rest:
            common = prefix + rest.split(delimiter)[0] + delimiter
            rows[common] = f"<CommonPrefixes><Prefix>{escape(common)}</Prefix></CommonPrefixes>"
        else:
            rows[key] = _row(key, objects[key])
    names = [name for name in rows if name > after]
    shown = names[:page]
    more = len(names) > page
    token = f"<NextContinuationToken>{escape(shown[-1])}</NextContinuationToken>" if more else ""
    xml = f"<ListBucketResult><IsTruncated>{str(more).lower()}</IsTruncated>{token}"
    xml += "".join(rows[name] for name in shown) + "</ListBucketResult>"
    return 200, {"Content-Type": "application/xml"}, xml.encode()


def _row(key: str, stored: Stored) -> str:
    modified = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(stored.modified))
    return (
        f"<Contents><Key>{escape(key)}</Key><LastModified>{modified}</LastModified>"
        f"<ETag>{escape(stored.etag)}</ETag><Size>{len(stored.data)}</Size></Contents>"
    )


Service = TypeVar("Service", bound=BucketService)


@contextlib.contextmanager
def bucket_service(service: Service) -> Iterator[Service]:
    """The service, listening."""
    with serving(type("Handler", (_Handler,), {"service": service})) as port:
        service.port = port
        yield service
