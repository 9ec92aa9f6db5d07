# SPDX-License-Identifier: Apache-2.0
"""Which URIs name which store, and what is said about those that name none."""

from pathlib import Path

import pytest

from aboard.errors import InvalidType, InvalidValue
from aboard.store import open_store
from aboard.store.uri import parse_uri
from support.cases import all_cases


@pytest.mark.parametrize(
    ("uri", "kind", "bucket", "prefix"),
    [
        ("s3://bucket", "s3", "bucket", ""),
        ("s3://bucket/", "s3", "bucket", ""),
        ("s3://my.bucket-1/a/b/", "s3", "my.bucket-1", "a/b"),
        ("S3A://bucket/sp ace/%20/#?", "s3", "bucket", "sp ace/%20/#?"),
        ("gs://bucket/a", "gs", "bucket", "a"),
        ("gcs://bucket/a", "gs", "bucket", "a"),
        ("az://cont/a", "az", "cont", "a"),
        ("azure://cont/a", "az", "cont", "a"),
        ("abfs://cont/a", "az", "cont", "a"),
        ("oss://bucket/path/", "oss", "bucket", "path"),
        ("memory://m/x", "memory", "m", "x"),
    ],
)
def test_buckets_and_prefixes(uri, kind, bucket, prefix):
    address = parse_uri(uri)
    assert (address.kind, address.bucket, address.prefix) == (kind, bucket, prefix)
    assert parse_uri(address.uri) == address


def test_azure_accounts_in_the_uri():
    address = parse_uri("abfss://cont@acc1.dfs.core.windows.net/a/b")
    assert (address.account, address.bucket, address.prefix) == ("acc1", "cont", "a/b")
    assert address.endpoint == "https://acc1.blob.core.windows.net"
    assert parse_uri(address.uri) == address
    assert parse_uri("https://acc1.blob.core.windows.net/cont/a%20b").prefix == "a b"
    assert (
        parse_uri("https://acc1.blob.core.chinacloudapi.cn/cont").endpoint == "https://acc1.blob.core.chinacloudapi.cn"
    )


def test_a_pasted_signature_is_used_but_never_shown():
    address = parse_uri("https://acc1.blob.core.windows.net/cont/a?sv=2021&sp=rl&sig=SECRET%3D")
    assert address.shared_access == "sv=2021&sp=rl&sig=SECRET%3D"
    assert "SECRET" not in address.uri
    assert "SECRET" not in repr(address)


def test_oss_endpoint_in_the_uri():
    address = parse_uri("oss://mybucket.oss-cn-beijing-internal.aliyuncs.com/runs/")
    assert (address.bucket, address.prefix) == ("mybucket", "runs")
    assert address.endpoint == "https://oss-cn-beijing-internal.aliyuncs.com"
    assert parse_uri(address.uri) == address


def test_folders(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert parse_uri("runs/x").path == tmp_path / "runs/x"
    assert parse_uri(tmp_path / "y").path == tmp_path / "y"
    assert parse_uri("~/z").path == tmp_path / "home/z"
    assert parse_uri("file:///data/with%20space").path == Path("/data/with space")
    assert parse_uri("file://localhost/data").path == Path("/data")


@all_cases(
    ("uri", "says"),
    [
        ("", "empty"),
        ("hdfs://x/y", "s3://bucket"),
        ("http://host/x", "is not a kind of store"),
        ("s3://", "bucket"),
        ("s3:///key", "bucket"),
        ("s3://b", "bucket"),
        ("s3://buck et/x", "bucket"),
        ("az://", "container"),
        ("memory://", "needs a name"),
        ("s3://bucket/a/../b", "not a name"),
        ("file://otherhost/x", "this machine"),
        ("https://example.com/x", "Azure"),
        ("https://acc1.blob.core.windows.net/cont?x=1", "signature"),
        ("abfss://cont@evil.example.com/x", "Azure storage account"),
        ("with\0zero", "not a path"),
        ("~nobody-of-this-name/x", "not known here"),
    ],
)
def test_uris_that_name_no_store(uri, says):
    with pytest.raises(InvalidValue, match=says):
        open_store(uri)


def test_credentials_in_a_uri_are_refused_and_not_repeated():
    with pytest.raises(InvalidValue, match="no credentials") as caught:
        open_store("s3://AKIAID:topsecret@bucket/x")
    assert "topsecret" not in str(caught.value)
    assert "AKIAID" not in str(caught.value)


def test_not_text():
    with pytest.raises((InvalidType, TypeError)):
        open_store(5)  # pyright: ignore[reportArgumentType] (wrong on purpose)
    with pytest.raises(InvalidType):
        parse_uri(type("P", (), {"__fspath__": lambda self: b"x"})())  # pyright: ignore[reportArgumentType] (wrong on purpose)
