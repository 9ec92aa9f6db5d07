# SPDX-License-Identifier: Apache-2.0
"""The ways people tell where a store is and who they are: variables of each cloud, addressing, endpoints."""

import base64
import json
from typing import Any

import pytest

from aboard.errors import InvalidValue, StoreError
from aboard.store import Connection, Patience, open_store
from support.clouds import clear_clouds, use
from support.fault_proxy import fault_proxy
from support.object_servers import WRITER
from support.rsa_key import make_private_key
from support.store_kinds import oss_environment
from support.xml_buckets import OSS_TOKEN, GcsService, OssService, bucket_service

ONCE = Patience(retries=0, connect_seconds=5)


@pytest.fixture(autouse=True)
def no_clouds(monkeypatch, tmp_path):
    clear_clouds(monkeypatch, tmp_path)


def works(store):
    """The store takes, keeps, lists and gives back what a person puts there."""
    store.put("folder/x #1", b"hello")
    assert store.get("folder/x #1") == b"hello"
    assert [entry.key for entry in store.list("folder")] == ["folder/x #1"]
    store.delete("folder/x #1")
    assert not store.exists("folder/x #1")
    return True


def test_s3_by_connection_alone(s3_server):
    here = Connection(endpoint=s3_server.endpoint, key_id=WRITER.id, secret=WRITER.secret, region="us-east-1")
    assert works(open_store("s3://contract/connections", connection=here))


@pytest.mark.parametrize("variable", ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT", "S3_ENDPOINT"])
def test_s3_endpoint_variables(s3_server, monkeypatch, variable):
    variables = s3_server.environment()
    variables[variable] = variables.pop("AWS_ENDPOINT_URL")
    use(monkeypatch, variables)
    assert works(open_store("s3://contract/connections"))


def test_s3_endpoint_of_the_connection_wins(s3_server, monkeypatch):
    use(monkeypatch, s3_server.environment())
    use(monkeypatch, {"AWS_ENDPOINT_URL_S3": "http://127.0.0.1:9"})
    assert works(open_store("s3://contract/connections", connection=Connection(endpoint=s3_server.endpoint)))


@pytest.mark.parametrize("by", ["connection", "variable"])
def test_s3_virtual_hosted(s3_server, monkeypatch, by):
    """The bucket before the host, on a real server; a proxy stands for the names that no resolver here knows."""
    with fault_proxy(s3_server.port) as proxy:
        use(monkeypatch, s3_server.environment())
        use(monkeypatch, {"AWS_ENDPOINT_URL": f"http://{s3_server.domain}", "HTTP_PROXY": proxy.endpoint})
        connection = Connection(addressing="virtual") if by == "connection" else None
        if by == "variable":
            monkeypatch.setenv("AWS_VIRTUAL_HOSTED_STYLE_REQUEST", "true")
        assert works(open_store("s3://contract/virtual", connection=connection))
        assert {asked.host for asked in proxy.requests} == {f"contract.{s3_server.domain}"}
        assert all(not asked.path.startswith("/contract") for asked in proxy.requests)


@pytest.mark.parametrize(
    ("bucket", "host"), [("plain", "plain.s3.eu-west-1.amazonaws.com"), ("with.dots", "s3.eu-west-1.amazonaws.com")]
)
def test_addresses_at_amazon(monkeypatch, bucket, host):
    """Where requests would go; the proxy refuses the tunnel, so that nothing leaves."""
    with fault_proxy(9) as proxy:
        use(monkeypatch, {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "eu-west-1"})
        monkeypatch.setenv("HTTPS_PROXY", proxy.endpoint)
        with pytest.raises(OSError, match="cannot be reached"):
            open_store(f"s3://{bucket}/p", patience=ONCE).get("x")
        assert [asked.host for asked in proxy.requests] == [f"{host}:443"]


def test_oss_sends_what_oss_wants_and_nothing_of_aws(monkeypatch):
    with bucket_service(OssService({"contract": {}})) as service:
        use(
            monkeypatch,
            {"AWS_SESSION_TOKEN": "of-another-cloud", "AWS_ACCESS_KEY_ID": "aws", "AWS_SECRET_ACCESS_KEY": "aws"},
        )
        use(
            monkeypatch,
            {"AWS_ENDPOINT_URL_S3": "http://127.0.0.1:9", "AWS_REGION": "us-west-2", "AWS_PROFILE": "nobody"},
        )
        use(monkeypatch, oss_environment(service))
        store = open_store("oss://contract/p")
        assert works(store)
        store.put("claim", b"1", create_only=True)
        *_, last = service.headers_seen
        assert last["host"] == "contract.oss-cn-hangzhou.aliyuncs.test"
        assert last["x-oss-forbid-overwrite"] == "true"
        assert last["x-amz-security-token"] == OSS_TOKEN
        assert "/cn-hangzhou/s3/aws4_request" in last["authorization"]
        assert not any("of-another-cloud" in str(headers) for headers in service.headers_seen)


def test_oss_variables_on_a_real_s3_server(s3_server, monkeypatch):
    with fault_proxy(s3_server.port) as proxy:
        variables = {
            "OSS_ENDPOINT": s3_server.domain,
            "OSS_REGION": "oss-us-east-1",
            "OSS_ACCESS_KEY_ID": WRITER.id,
            "OSS_ACCESS_KEY_SECRET": WRITER.secret,
            "HTTP_PROXY": proxy.endpoint,
        }
        use(monkeypatch, {**variables, "OSS_ENDPOINT": f"http://{s3_server.domain}"})
        assert works(open_store("oss://contract/oss"))
        assert {asked.host for asked in proxy.requests} == {f"contract.{s3_server.domain}"}


@pytest.mark.parametrize(
    ("uri", "variables", "host", "region"),
    [
        ("oss://bkt/x", {"OSS_REGION": "cn-shanghai"}, "bkt.s3.oss-cn-shanghai.aliyuncs.com", "cn-shanghai"),
        ("oss://bkt/x", {"OSS_REGION": "oss-cn-shanghai"}, "bkt.s3.oss-cn-shanghai.aliyuncs.com", "cn-shanghai"),
        (
            "oss://bkt/x",
            {"OSS_ENDPOINT": "oss-cn-beijing-internal.aliyuncs.com"},
            "bkt.oss-cn-beijing-internal.aliyuncs.com",
            "cn-beijing",
        ),
        ("oss://bkt.oss-ap-southeast-1.aliyuncs.com/x", {}, "bkt.oss-ap-southeast-1.aliyuncs.com", "ap-southeast-1"),
    ],
)
def test_oss_endpoints(monkeypatch, uri, variables, host, region):
    with fault_proxy(9) as proxy:
        use(
            monkeypatch,
            {"OSS_ACCESS_KEY_ID": "a", "OSS_ACCESS_KEY_SECRET": "b", "HTTPS_PROXY": proxy.endpoint, **variables},
        )
        store = open_store(uri, patience=ONCE)
        with pytest.raises(OSError, match="cannot be reached"):
            store.get("x")
        assert [asked.host for asked in proxy.requests] == [f"{host}:443"]
        client: Any = store
        assert client._client.bucket.region == region


@pytest.mark.parametrize(
    "way", ["names", "cli names", "connection string", "development", "emulator", "signature", "connection"]
)
def test_azure_variables(azure_server, monkeypatch, way):
    account, key, endpoint = azure_server.account, azure_server.key, azure_server.endpoint
    variables = {
        "names": {
            "AZURE_STORAGE_ACCOUNT_NAME": account,
            "AZURE_STORAGE_ACCOUNT_KEY": key,
            "AZURE_STORAGE_ENDPOINT": endpoint,
        },
        "cli names": {"AZURE_STORAGE_ACCOUNT": account, "AZURE_STORAGE_KEY": key, "AZURE_STORAGE_ENDPOINT": endpoint},
        "connection string": {
            "AZURE_STORAGE_CONNECTION_STRING": f"DefaultEndpointsProtocol=http;AccountName={account};"
            f"AccountKey={key};BlobEndpoint={endpoint};"
        },
        "development": {"AZURE_STORAGE_CONNECTION_STRING": f"UseDevelopmentStorage=true;BlobEndpoint={endpoint}"},
        "signature": {
            "AZURE_STORAGE_ACCOUNT": account,
            "AZURE_STORAGE_SAS_TOKEN": "?" + azure_server.shared_access("contract", "rwdlc"),
            "AZURE_STORAGE_ENDPOINT": endpoint,
        },
        "emulator": {
            "AZURE_STORAGE_USE_EMULATOR": "true",
            "AZURITE_BLOB_STORAGE_URL": f"http://127.0.0.1:{azure_server.port}",
        },
        "connection": {},
    }[way]
    use(monkeypatch, variables)
    connection = Connection(endpoint=endpoint, account=account, secret=key) if way == "connection" else None
    assert works(open_store("az://contract/connections", connection=connection))


def test_azure_connection_string_with_a_mistake(monkeypatch):
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", "my-secret-without-a-name")
    with pytest.raises(InvalidValue, match="Name=Value") as caught:
        open_store("az://contract")
    assert "my-secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("uri", "host"),
    [
        ("abfss://cont@acc1.dfs.core.windows.net/x", "acc1.blob.core.windows.net"),
        ("https://acc1.blob.core.windows.net/cont/x", "acc1.blob.core.windows.net"),
        ("https://acc1.blob.core.chinacloudapi.cn/cont/x", "acc1.blob.core.chinacloudapi.cn"),
    ],
)
def test_azure_accounts_in_the_uri(monkeypatch, uri, host):
    with fault_proxy(9) as proxy:
        use(monkeypatch, {"AZURE_STORAGE_ACCOUNT_KEY": "YQ==", "HTTPS_PROXY": proxy.endpoint})
        use(
            monkeypatch, {"AZURE_STORAGE_ENDPOINT": "https://of-another-account.test", "AZURE_STORAGE_ACCOUNT": "other"}
        )
        with pytest.raises(OSError, match="cannot be reached"):
            open_store(uri, patience=ONCE).get("x")
        assert [asked.host for asked in proxy.requests] == [f"{host}:443"]


def test_gcs_token():
    with bucket_service(GcsService({"contract": {}})) as service:
        connection = Connection(endpoint=service.endpoint, secret="writer-token")
        assert works(open_store("gs://contract/p", connection=connection))


def test_servers_that_do_not_know_where_to_start():
    with bucket_service(GcsService({"contract": {}}, ignores_start_after=True, page=3)) as service:
        store = open_store("gs://contract/p", connection=Connection(endpoint=service.endpoint, secret="writer-token"))
        for key in ("a/1", "a/2", "b/1", "b/2", "c/1"):
            store.put(key, b"")
        assert [entry.key for entry in store.list(start_after="a/2")] == ["b/1", "b/2", "c/1"]
        assert list(store.list_folders(start_after="a")) == ["b", "c"]


def test_objects_of_other_programs_that_cannot_be_named_are_pointed_at():
    with bucket_service(GcsService({"contract": {}})) as service:
        service.keep("contract", "p/a//b", b"")
        store = open_store("gs://contract/p", connection=Connection(endpoint=service.endpoint, secret="writer-token"))
        with pytest.raises(StoreError, match="p/a//b") as caught:
            list(store.list())
        assert "Rename" in caught.value.hint


def test_gcs_service_account_file(monkeypatch, tmp_path):
    """The file's key signs a token of its own, so that no other server has to be asked."""

    class SignedBy(GcsService):
        def check(self, call):
            _, claims, _ = call.headers["authorization"].removeprefix("Bearer ").split(".")
            assert json.loads(base64.urlsafe_b64decode(claims + "=="))["iss"] == "me@example.com"

    with bucket_service(SignedBy({"contract": {}})) as service:
        login = {"type": "service_account", "client_email": "me@example.com", "private_key_id": "1"}
        path = tmp_path / "service.json"
        path.write_text(json.dumps(login | {"private_key": make_private_key()}))
        use(monkeypatch, {"GOOGLE_APPLICATION_CREDENTIALS": str(path), "GOOGLE_BASE_URL": service.endpoint})
        assert works(open_store("gs://contract/p"))


def test_gcs_emulator_variable(monkeypatch):
    class Emulator(GcsService):
        def check(self, call):
            """Emulators take everybody."""

    with bucket_service(Emulator({"contract": {}})) as service:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", service.endpoint.removeprefix("http://"))
        assert works(open_store("gs://contract/p"))


def test_gcs_login_file_of_gcloud(monkeypatch, tmp_path):
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
    (tmp_path / "application_default_credentials.json").write_text('{"type": "something_else"}')
    with pytest.raises(OSError, match="something_else"):
        open_store("gs://contract/p")


@pytest.mark.parametrize("wrong", [{"addressing": "sideways"}, {"endpoint": "host:9000"}])
def test_connections_with_mistakes(wrong):
    with pytest.raises(InvalidValue, match=next(iter(wrong.values()))):
        Connection(**wrong)


@pytest.mark.parametrize("wrong", [{"retries": -1}, {"connect_seconds": 0}, {"stall_seconds": -3}])
def test_patience_with_mistakes(wrong):
    with pytest.raises(InvalidValue, match=next(iter(wrong))):
        Patience(**wrong)
