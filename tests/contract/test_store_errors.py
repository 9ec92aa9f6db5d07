# SPDX-License-Identifier: Apache-2.0
"""Real answers of object stores to what people get wrong, and documented ones where no server here gives them."""

import pytest

from aboard import errors
from aboard.store import Connection, Patience, open_store
from support.clouds import NOBODY_LISTENS, clear_clouds, use
from support.fault_proxy import fault_proxy
from support.object_servers import LISTLESS, READER, WRITER, Keys
from support.store_kinds import oss_environment
from support.xml_buckets import GcsService, OssService, bucket_service

ONCE = Patience(retries=0, connect_seconds=5)
SECRETS = [WRITER.secret, READER.secret, LISTLESS.secret, "Eby8vdM02", "oss-secret", "writer-token", "reader-token"]


@pytest.fixture(autouse=True)
def no_clouds(monkeypatch, tmp_path):
    clear_clouds(monkeypatch, tmp_path)


@pytest.fixture
def s3(s3_server, monkeypatch):
    use(monkeypatch, s3_server.environment())
    open_store("s3://contract/errors").put("x", b"1")
    return s3_server


@pytest.fixture
def azure(azure_server, monkeypatch):
    use(monkeypatch, azure_server.environment())
    open_store("az://contract/errors").put("x", b"1")
    return azure_server


@pytest.fixture
def gcs(monkeypatch):
    with bucket_service(GcsService({"contract": {}})) as service:
        use(monkeypatch, {"GOOGLE_BASE_URL": service.endpoint, "GOOGLE_BEARER_TOKEN": "writer-token"})
        open_store("gs://contract/errors").put("x", b"1")
        yield service


def fails(act, kind, *says, hint=""):
    """The error must be exactly of this kind, say this, give a next step, and hide every secret."""
    with pytest.raises(kind) as caught:
        act()
    assert type(caught.value) is kind, caught.value
    text = str(caught.value)
    assert all(word in text for word in says), text
    assert caught.value.hint
    assert hint in caught.value.hint
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    assert not [secret for secret in SECRETS if secret in text], text
    return caught.value


def every_call(store):
    return {
        "read": lambda: store.get("x"),
        "head": lambda: store.exists("x"),
        "write": lambda: store.put("x", b"2"),
        "list": lambda: list(store.list()),
        "delete": lambda: store.delete("x"),
    }


@pytest.mark.parametrize("call", ["read", "write", "list"])
def test_no_such_bucket(s3, azure, gcs, call):
    for uri, word in (
        ("s3://nobody-made-this", "bucket"),
        ("az://nobodymadethis", "container"),
        ("gs://nobody", "bucket"),
    ):
        if (uri[:2], call) == ("s3", "write"):
            continue  # SeaweedFS would create the bucket; what Amazon answers is among the documented answers
        fails(every_call(open_store(uri))[call], errors.NoSuchStore, word, uri.split("//")[1], hint="Check the name")
        fails(open_store(uri).check, errors.NoSuchStore)


def test_s3_identity_that_may_only_read(s3, monkeypatch):
    use(monkeypatch, s3.environment(READER))
    store = open_store("s3://contract/errors")
    assert store.get("x") == b"1"
    assert [entry.key for entry in store.list()] == ["x"]
    fails(every_call(store)["write"], errors.AccessDenied, "write x", hint="s3:PutObject")
    fails(every_call(store)["delete"], errors.AccessDenied, "delete x", hint="s3:DeleteObject")
    fails(lambda: store.put("y", b"", create_only=True), errors.AccessDenied)
    assert store.get("x") == b"1"


def test_s3_identity_that_may_not_list(s3, monkeypatch):
    use(monkeypatch, s3.environment(LISTLESS))
    store = open_store("s3://contract/errors")
    assert store.get("x") == b"1"
    fails(every_call(store)["list"], errors.AccessDenied, "list", hint="s3:ListBucket")
    fails(lambda: list(store.list_folders()), errors.AccessDenied)
    fails(store.check, errors.AccessDenied)


def test_s3_keys_that_are_not_accepted(s3, monkeypatch):
    for keys, code in (
        (Keys(WRITER.id, "wrong-secret"), "SignatureDoesNotMatch"),
        (Keys("who", "x"), "InvalidAccessKeyId"),
    ):
        use(monkeypatch, s3.environment(keys))
        for call in every_call(open_store("s3://contract/errors")).values():
            error = fails(call, errors.CredentialsRefused, code, hint="AWS_ACCESS_KEY_ID")
            assert "wrong-secret" not in str(error)


def test_s3_anonymous_requests(s3):
    fails(
        every_call(open_store("s3://contract/errors", connection=Connection(anonymous=True)))["read"],
        errors.AccessDenied,
    )


def test_azure_signatures_with_less_rights(azure, monkeypatch):
    def with_signature(rights, seconds=3600):
        monkeypatch.setenv("AZURE_STORAGE_SAS_TOKEN", azure.shared_access("contract", rights, seconds=seconds))
        monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_KEY", raising=False)
        return open_store("az://contract/errors")

    store = with_signature("rl")
    assert store.get("x") == b"1"
    assert [entry.key for entry in store.list()] == ["x"]
    fails(every_call(store)["write"], errors.AccessDenied, "write x", hint="Write")
    fails(every_call(store)["delete"], errors.AccessDenied, "delete x", hint="Delete")
    fails(every_call(with_signature("r"))["list"], errors.AccessDenied, "list", hint="List")
    for call in ("read", "list", "write"):
        fails(every_call(with_signature("rlw", -60))[call], errors.CredentialsExpired, "expired", hint="SAS_TOKEN")
    store = with_signature("rlwd")
    store.put("y", b"2")
    store.delete("y")


def test_azure_key_that_is_not_accepted(azure, monkeypatch):
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", "d3Jvbmcta2V5")
    for call in every_call(open_store("az://contract/errors")).values():
        error = fails(call, errors.CredentialsRefused, "not accepted", hint="AZURE_STORAGE")
        assert "d3Jvbmcta2V5" not in str(error)


def test_gcs_tokens(gcs, monkeypatch):
    monkeypatch.setenv("GOOGLE_BEARER_TOKEN", "reader-token")
    store = open_store("gs://contract/errors")
    assert store.get("x") == b"1"
    fails(every_call(store)["write"], errors.AccessDenied, "write x", hint="storage.objects.create")
    fails(every_call(store)["delete"], errors.AccessDenied, hint="storage.objects.delete")
    monkeypatch.setenv("GOOGLE_BEARER_TOKEN", "expired-token")
    for call in every_call(open_store("gs://contract/errors")).values():
        fails(call, errors.CredentialsExpired, "expired", hint="gcloud")
    monkeypatch.setenv("GOOGLE_BEARER_TOKEN", "made-up")
    fails(every_call(open_store("gs://contract/errors"))["read"], errors.CredentialsRefused, "not accepted")
    fails(
        every_call(open_store("gs://contract/errors", connection=Connection(anonymous=True)))["read"],
        errors.CredentialsRefused,
    )


@pytest.mark.parametrize(
    ("uri", "variables"),
    [
        ("s3://bucket", {}),
        ("s3://bucket", {"AWS_EC2_METADATA_DISABLED": "true", "AWS_ENDPOINT_URL": "http://127.0.0.1:9"}),
        ("gs://bucket", {}),
        ("az://container", {}),
        ("az://container", {"AZURE_STORAGE_ACCOUNT_NAME": "someone"}),
        ("oss://bucket", {"OSS_REGION": "cn-hangzhou"}),
        ("oss://bucket", {"OSS_REGION": "cn-hangzhou", "OSS_ACCESS_KEY_ID": "only-half"}),
    ],
)
def test_missing_credentials(monkeypatch, uri, variables):
    use(monkeypatch, variables)
    fails(lambda: open_store(uri), errors.CredentialsMissing, uri, hint="Set ")


def test_a_metadata_service_without_credentials(monkeypatch):
    """A machine inside a cloud, but without a role: its metadata service answers, and has nothing to give."""
    with bucket_service(GcsService()) as service:
        host = service.endpoint.removeprefix("http://")
        use(monkeypatch, {"AWS_METADATA_ENDPOINT": service.endpoint, "AWS_ENDPOINT_URL": "http://127.0.0.1:9"})
        use(monkeypatch, dict.fromkeys(["GCE_METADATA_HOST", "GCE_METADATA_ROOT", "GCE_METADATA_IP"], host))
        for uri in ("s3://bucket", "gs://bucket"):
            store = open_store(uri, patience=ONCE)
            fails(every_call(store)["read"], errors.CredentialsMissing, "no usable credentials", hint="Set ")


def test_google_files_that_cannot_be_used(monkeypatch, tmp_path):
    path = tmp_path / "login.json"
    path.write_text('{"type": "external_account", "private_key": "very-secret"}')
    for value in (path, tmp_path / "nowhere.json"):
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(value))
        error = fails(lambda: open_store("gs://bucket"), errors.CredentialsMissing, "cannot be used")
        assert "very-secret" not in str(error)


def test_oss_without_a_region(monkeypatch):
    fails(lambda: open_store("oss://bucket"), errors.InvalidValue, "region", hint="OSS_ENDPOINT")


def test_oss_refusals(monkeypatch):
    with bucket_service(OssService({"contract": {}})) as service:
        use(monkeypatch, oss_environment(service))
        use(monkeypatch, {"OSS_ACCESS_KEY_SECRET": "wrong"})
        fails(every_call(open_store("oss://contract"))["read"], errors.CredentialsRefused, "SignatureDoesNotMatch")
        use(monkeypatch, {"OSS_ACCESS_KEY_ID": "who"})
        fails(every_call(open_store("oss://contract"))["list"], errors.CredentialsRefused, hint="OSS_ACCESS_KEY_ID")
        use(monkeypatch, {"OSS_SESSION_TOKEN": "old"})
        fails(every_call(open_store("oss://contract"))["write"], errors.CredentialsRefused, "InvalidSecurityToken")
        path_style = open_store("oss://contract", connection=Connection(addressing="path"))
        fails(every_call(path_style)["read"], errors.AccessDenied, "SecondLevelDomainForbidden")


@pytest.mark.parametrize("call", ["read", "write", "list"])
def test_nobody_answers(call):
    here = Connection(endpoint=f"http://{NOBODY_LISTENS}", key_id="a", secret="b", account="a")
    azure = Connection(endpoint=f"http://{NOBODY_LISTENS}", account="a", secret="YQ==")
    for uri, connection in (("s3://bucket", here), ("gs://bucket", here), ("az://container", azure)):
        store = open_store(uri, connection=connection, patience=ONCE)
        error = fails(every_call(store)[call], errors.StoreUnreachable, "refused", hint="network")
        assert error.temporary
        assert isinstance(error, ConnectionError)


def test_a_name_that_nobody_knows():
    connection = Connection(endpoint="http://no-such-host.invalid", key_id="a", secret="b")
    store = open_store("s3://bucket", connection=connection, patience=ONCE)
    fails(every_call(store)["read"], errors.StoreUnreachable, "no-such-host.invalid is not known")


XML = "<?xml version='1.0' encoding='UTF-8'?><Error><Code>{}</Code><Message>{}</Message>{}</Error>"
DOCUMENTED = [
    # S3: https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html
    (404, "NoSuchBucket", "The specified bucket does not exist", "", errors.NoSuchStore),
    (
        301,
        "PermanentRedirect",
        "The bucket you are attempting to access must be addressed elsewhere.",
        "",
        errors.WrongRegion,
    ),
    (
        400,
        "AuthorizationHeaderMalformed",
        "The authorization header is malformed; the region 'us-east-1' is wrong; expecting 'eu-west-3'",
        "<Region>eu-west-3</Region>",
        errors.WrongRegion,
    ),
    (400, "ExpiredToken", "The provided token has expired.", "", errors.CredentialsExpired),
    (
        403,
        "RequestTimeTooSkewed",
        "The difference between the request time and the server's time is too large.",
        "",
        errors.CredentialsRefused,
    ),
    (403, "InvalidToken", "The provided token is malformed or otherwise not valid.", "", errors.CredentialsRefused),
    (403, "AllAccessDisabled", "All access to this object has been disabled.", "", errors.AccessDenied),
    (503, "SlowDown", "Please reduce your request rate.", "", errors.StoreUnreachable),
    (500, "InternalError", "We encountered an internal error. Please try again.", "", errors.StoreUnreachable),
    (429, "TooManyRequests", "Slow down.", "", errors.StoreUnreachable),
    (507, "InsufficientStorage", "Full.", "", errors.StoreFull),
    (403, "QuotaExceeded", "The quota was exceeded.", "", errors.StoreFull),
    (
        501,
        "NotImplemented",
        "A header you provided implies functionality that is not implemented.",
        "",
        errors.StoreUnreachable,
    ),
    (405, "MethodNotAllowed", "The specified method is not allowed.", "", errors.StoreError),
]


@pytest.mark.parametrize("call", ["read", "head", "write", "list"])
def test_documented_answers_of_s3(call):
    with fault_proxy(9) as proxy:
        connection = Connection(endpoint=proxy.endpoint, key_id="a", secret="b")
        for status, code, message, more, kind in DOCUMENTED:
            proxy.heal()
            proxy.answer(status, XML.format(code, message, more).encode())
            store = open_store("s3://bucket/p", connection=connection, patience=ONCE)
            if (code, call) == ("NoSuchBucket", "head"):
                assert not store.exists("x")  # the answer to HEAD has no body, so it looks like any other missing key
                continue
            with pytest.raises(kind) as caught:
                every_call(store)[call]()
            assert type(caught.value) is kind, (code, caught.value)
            if "eu-west-3" in more:
                assert "eu-west-3" in caught.value.hint
            if kind is errors.WrongRegion:
                assert "AWS_REGION" in caught.value.hint


DETAIL = "AuthenticationErrorDetail"
DOCUMENTED_AZURE = [
    (403, "AuthenticationFailed", "Server failed to authenticate the request.", errors.CredentialsRefused),
    (
        403,
        "AuthenticationFailed",
        f"Refused.</Message><{DETAIL}>Signature not valid in the specified time frame</{DETAIL}><Message>",
        errors.CredentialsExpired,
    ),
    (401, "InvalidAuthenticationInfo", "Lifetime validation failed. The token is expired.", errors.CredentialsExpired),
    (403, "AuthorizationFailure", "This request is not authorized to perform this operation.", errors.AccessDenied),
    (
        403,
        "AuthorizationPermissionMismatch",
        "This request is not authorized using this permission.",
        errors.AccessDenied,
    ),
    (503, "ServerBusy", "The server is busy.", errors.StoreUnreachable),
]


@pytest.mark.parametrize("call", ["read", "write", "list"])
def test_documented_answers_of_azure(call):
    with fault_proxy(9) as proxy:
        connection = Connection(endpoint=f"{proxy.endpoint}/a", account="a", secret="YQ==")
        for status, code, message, kind in DOCUMENTED_AZURE:
            proxy.heal()
            proxy.answer(status, XML.format(code, message, "").encode())
            store = open_store("az://container/p", connection=connection, patience=ONCE)
            fails(every_call(store)[call], kind)


def test_a_bare_redirect_means_another_region():
    with fault_proxy(9) as proxy:
        proxy.answer(301)
        connection = Connection(endpoint=proxy.endpoint, key_id="a", secret="b", region="us-east-1")
        store = open_store("s3://bucket", connection=connection, patience=ONCE)
        fails(every_call(store)["read"], errors.WrongRegion, "bucket", "us-east-1", hint="AWS_REGION")


def test_an_overwrite_never_finds_that_something_exists(s3):
    """Immutable and leased objects answer 409 and 412 too."""
    with fault_proxy(9) as proxy:
        proxy.answer(409, XML.format("BlobImmutableDueToPolicy", "It is immutable.", "").encode())
        connection = Connection(endpoint=f"{proxy.endpoint}/a", account="a", secret="YQ==")
        store = open_store("az://container/p", connection=connection, patience=ONCE)
        with pytest.raises(errors.StoreError, match="It is immutable") as caught:
            store.put("x", b"")
        assert not isinstance(caught.value, FileExistsError)


def test_two_creators_at_the_same_moment(s3):
    """S3 answers 409 when it cannot tell which of two create-only puts came first: that is not yet a refusal."""
    with fault_proxy(s3.port) as proxy:
        connection = Connection(endpoint=proxy.endpoint, key_id=WRITER.id, secret=WRITER.secret)
        store = open_store("s3://contract/errors", connection=connection, patience=ONCE)
        store.delete("claim")
        proxy.answer(409, XML.format("ConditionalRequestConflict", "Conflict", "").encode(), method="PUT", times=2)
        store.put("claim", b"1", create_only=True)
        assert store.get("claim") == b"1"


def test_secrets_are_not_in_reprs(monkeypatch, azure):
    connection = Connection(key_id="my-id", secret="my-secret", session_token="my-token")
    assert "my-" not in repr(connection)
    store = open_store("s3://bucket", connection=connection)
    shown = f"{store!r} {vars(store)!r} {store!s}"
    assert "my-" not in shown
    monkeypatch.setenv("AZURE_STORAGE_SAS_TOKEN", "sv=1&sig=my-signature")
    store = open_store("https://acc1.blob.core.windows.net/cont?sv=1&sp=r&sig=my-signature")
    assert "my-signature" not in f"{store!r} {vars(store)!r} {store.uri}"


@pytest.mark.parametrize("endpoint", ["http://127.0.0.1:9", "https://10.0.0.1", "http://[::1]:9"])
def test_an_endpoint_without_a_name_is_refused_where_the_bucket_goes_before_it(monkeypatch, endpoint):
    use(monkeypatch, {"OSS_ENDPOINT": endpoint, "OSS_ACCESS_KEY_ID": "k", "OSS_ACCESS_KEY_SECRET": "s"})
    fails(lambda: open_store("oss://bucket/x"), errors.InvalidValue, "IP address", "oss://bucket/x", hint="s3://")
    use(monkeypatch, {"AWS_ENDPOINT_URL": endpoint, "AWS_VIRTUAL_HOSTED_STYLE_REQUEST": "true"})
    fails(lambda: open_store("s3://bucket/x"), errors.InvalidValue, "IP address")


@pytest.mark.parametrize("call", ["read", "head", "write", "list", "delete"])
def test_a_panic_of_native_code_is_an_error_of_the_store(monkeypatch, call):
    """A real one: obstore cannot take this endpoint. Threads that read stores survive only what is an Exception."""
    monkeypatch.setattr("aboard.store.clouds.s3._check_host", lambda *_: None)
    use(
        monkeypatch,
        {"OSS_ENDPOINT": "http://127.0.0.1:9", "OSS_ACCESS_KEY_ID": "k", "OSS_ACCESS_KEY_SECRET": "oss-secret"},
    )
    store = open_store("oss://bucket/x", patience=ONCE)
    fails(every_call(store)[call], errors.StoreError, "obstore library failed", hint="endpoint")
