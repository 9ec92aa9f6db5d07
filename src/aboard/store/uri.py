# SPDX-License-Identifier: Apache-2.0
"""URIs of stores (kind, bucket and prefix) and the keys that every kind of store takes."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from aboard.errors import InvalidType, InvalidValue
from aboard.foundation.files import ASIDE_PREFIX

SCHEMES = {
    "s3": "s3",
    "s3a": "s3",
    "gs": "gs",
    "gcs": "gs",
    "az": "az",
    "azure": "az",
    "abfs": "az",
    "abfss": "az",
    "oss": "oss",
    "memory": "memory",
    "file": "file",
    "https": "az",
}
ALLOWED = (
    "a folder, file:///folder, s3://bucket/prefix, gs://bucket/prefix, az://container/prefix or oss://bucket/prefix"
)
_BUCKET = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{1,221}|\$(root|logs|web)")
_AZURE_HOST = re.compile(
    r"(?P<account>[a-z0-9-]+)\.(blob|dfs)\.(?P<suffix>core\.(windows\.net|chinacloudapi\.cn|usgovcloudapi\.net))"
)
_OSS_HOST = re.compile(r"(?P<bucket>[a-z0-9-]+)\.(?P<endpoint>(s3\.)?oss-[a-z0-9-]+\.aliyuncs\.com)")


@dataclass(frozen=True)
class StoreAddress:
    """Where a store is. Its `uri` opens the same store again, and never holds a secret."""

    kind: str
    """file, memory, s3, gs, az or oss."""
    uri: str
    bucket: str = ""
    prefix: str = ""
    """Of every key, without slashes at its ends."""
    path: Path | None = None
    account: str = ""
    endpoint: str = ""
    shared_access: str = field(default="", repr=False)


def parse_uri(uri: str | os.PathLike[str]) -> StoreAddress:
    """The parts of a URI, or of a path."""
    text = os.fspath(uri)
    if not isinstance(text, str):
        raise InvalidType(f"A store is named by text or a path, not {type(uri).__name__}.")
    if not text:
        raise InvalidValue("The URI of the store is empty.", hint=f"Name {ALLOWED}.")
    scheme, separator, rest = text.partition("://")
    if not separator:
        return _folder(text)
    kind = SCHEMES.get(scheme.lower())
    if kind is None:
        raise InvalidValue(f"{scheme}:// is not a kind of store.", hint=f"Name {ALLOWED}.")
    if "@" in rest.split("/")[0] and not scheme.lower().startswith("abfs"):
        raise InvalidValue(
            f"The URI of a store holds no credentials: {scheme}://…@{rest.split('/')[0].split('@')[-1]}.",
            hint="Put them into the environment, and leave away what stands before @.",
        )
    readers: dict[str, Callable[[str], StoreAddress]] = {"file": _file, "oss": _oss, "memory": _memory}
    if scheme.lower() == "https":
        return _azure_https(text)
    if scheme.lower().startswith("abfs"):
        return _abfs(rest)
    if kind in readers:
        return readers[kind](rest)
    return _bucket_and_prefix(kind, rest)


def _folder(text: str) -> StoreAddress:
    if "\0" in text:
        raise InvalidValue(f"{text!r} is not a path.")
    try:
        path = Path(text).expanduser().absolute()
    except RuntimeError:
        raise InvalidValue(f"{text!r} begins with the home of a user who is not known here.") from None
    return StoreAddress("file", str(path), path=path)


def _file(rest: str) -> StoreAddress:
    host, slash, path = rest.partition("/")
    if host not in {"", "localhost"} or not slash:
        raise InvalidValue(f"file://{rest} names no folder of this machine.", hint=f"Write file:///{path or rest}.")
    return _folder("/" + unquote(path))


def _memory(rest: str) -> StoreAddress:
    name, _, prefix = rest.partition("/")
    if not name:
        raise InvalidValue("memory:// needs a name.", hint="Write memory://any-name.")
    return _address("memory", name, prefix)


def _oss(rest: str) -> StoreAddress:
    host, _, prefix = rest.partition("/")
    if found := _OSS_HOST.fullmatch(host.lower()):
        return _address("oss", found["bucket"], prefix, shown=host.lower(), endpoint=f"https://{found['endpoint']}")
    return _bucket_and_prefix("oss", rest)


def _abfs(rest: str) -> StoreAddress:
    place, _, prefix = rest.partition("/")
    container, at, host = place.partition("@")
    if not at:
        return _bucket_and_prefix("az", rest)
    found = _AZURE_HOST.fullmatch(host.lower())
    if found is None:
        raise InvalidValue(
            f"{host!r} is not the host of an Azure storage account.",
            hint="Write abfss://container@account.dfs.core.windows.net/prefix, or az://container/prefix.",
        )
    return _azure(container, prefix, found)


def _azure_https(text: str) -> StoreAddress:
    parts = urlsplit(text)
    found = _AZURE_HOST.fullmatch(parts.hostname or "")
    if found is None:
        raise InvalidValue(
            f"https:// opens Azure storage accounts only, and {parts.hostname!r} is none.", hint=f"Name {ALLOWED}."
        )
    container, _, prefix = unquote(parts.path).lstrip("/").partition("/")
    if parts.query and "sig" not in parse_qs(parts.query):
        raise InvalidValue("What stands after the question mark is not a shared access signature.")
    return _azure(container, prefix, found, shared_access=parts.query)


def _azure(container: str, prefix: str, host: re.Match[str], *, shared_access: str = "") -> StoreAddress:
    endpoint = f"https://{host['account']}.blob.{host['suffix']}"
    address = _address("az", container, prefix, account=host["account"], endpoint=endpoint, shared_access=shared_access)
    uri = f"abfss://{container}@{host['account']}.dfs.{host['suffix']}/{address.prefix}".rstrip("/")
    return replace(address, uri=uri)


def _bucket_and_prefix(kind: str, rest: str) -> StoreAddress:
    bucket, _, prefix = rest.partition("/")
    return _address(kind, bucket, prefix)


def _address(
    kind: str,
    bucket: str,
    prefix: str,
    *,
    shown: str = "",
    account: str = "",
    endpoint: str = "",
    shared_access: str = "",
) -> StoreAddress:
    if not _BUCKET.fullmatch(bucket) and kind != "memory":
        what = "container" if kind == "az" else "bucket"
        raise InvalidValue(f"{bucket!r} cannot be the name of a {what}.", hint=f"Write {kind}://{what}/prefix.")
    prefix = check_folder(prefix)
    uri = f"{kind}://{shown or bucket}/{prefix}".rstrip("/")
    return StoreAddress(kind, uri, bucket, prefix, None, account, endpoint, shared_access)


def real_location(root: str) -> str:
    """A folder without symbolic links; a URI as it is."""
    return root if "://" in root else os.path.realpath(root)


def is_below(uri: str, root: str) -> bool:
    return uri == root or uri.startswith(f"{root.rstrip('/')}/")


MAX_KEY_BYTES = 1024  # S3, Google and Azure agree
MAX_PART_BYTES = 255  # of file systems

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_HINT = "Use parts joined by single slashes, such as tb/train/events.out.tfevents.1700000000.host."


def check_key(key: str) -> str:
    """The key itself, which names one object below the root of a store."""
    if not isinstance(key, str):
        raise InvalidType(f"A key is text, not {type(key).__name__}: {key!r}.")
    if reason := _why_not(key):
        raise InvalidValue(f"The key {key!r} cannot be used: {reason}.", hint=_HINT)
    return key


def check_folder(folder: str) -> str:
    """The folder without its last slash; empty for the root of a store."""
    if not isinstance(folder, str):
        raise InvalidType(f"A folder of a store is text, not {type(folder).__name__}: {folder!r}.")
    folder = folder.removesuffix("/")
    if folder and (reason := _why_not(folder)):
        raise InvalidValue(f"The folder {folder!r} cannot be used: {reason}.", hint=_HINT)
    return folder


def check_start_after(start_after: str) -> str:
    """A key or the beginning of one; a slash at its end is meant."""
    check_folder(start_after)
    return start_after


def join_key(folder: str, name: str) -> str:
    """`name` below `folder`, either of which may be empty."""
    return f"{folder}/{name}" if folder and name else folder or name


def _why_not(key: str) -> str:
    if not key:
        return "it is empty"
    if key.startswith("/"):
        return "it begins with a slash, and keys are relative to the store"
    try:
        length = len(key.encode())
    except UnicodeEncodeError:
        return "it is not valid Unicode"
    if length > MAX_KEY_BYTES:
        return f"it has {length} bytes, and at most {MAX_KEY_BYTES} are allowed"
    if "\\" in key:
        return "backslashes become slashes in some stores"
    if _CONTROL.search(key):
        return "it has control characters"
    reasons = (_why_not_part(part) for part in key.split("/"))
    return next((reason for reason in reasons if reason), "")


def _why_not_part(part: str) -> str:
    if not part:
        return "it has an empty part: two slashes in a row, or one at the end"
    if part in {".", ".."}:
        return f"{part!r} is not a name"
    if part.startswith(ASIDE_PREFIX):
        return f"names that begin with {ASIDE_PREFIX} are files being written"
    length = len(part.encode())
    if length > MAX_PART_BYTES:
        return f"the part {part[:40]!r}… has {length} bytes, and at most {MAX_PART_BYTES} are allowed"
    return ""
