# SPDX-License-Identifier: Apache-2.0
"""Profiles of the AWS files, as a store uses them: what arrives at a server is what the profile says."""

import json
import re
import stat
import sys
import time
from datetime import UTC, datetime, timedelta

import pytest

from aboard.errors import CredentialsExpired, CredentialsMissing, InvalidValue
from aboard.store import Connection, Patience, open_store
from support.clouds import clear_clouds
from support.fault_proxy import fault_proxy

ONCE = Patience(retries=0, connect_seconds=5)


@pytest.fixture
def home(monkeypatch, tmp_path):
    clear_clouds(monkeypatch, tmp_path)
    (tmp_path / ".aws").mkdir()
    return tmp_path


@pytest.fixture
def proxy(monkeypatch):
    with fault_proxy(9) as proxy:
        proxy.answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.endpoint)
        yield proxy


def write(home, credentials="", config=""):
    (home / ".aws/credentials").write_text(credentials)
    (home / ".aws/config").write_text(config)


def sent(proxy, store):
    """Key, region and token that a request was signed with."""
    assert not store.exists("x")
    headers = proxy.requests[-1].headers
    found = re.search(r"Credential=([^/]+)/\d+/([^/]+)/s3", headers["authorization"])
    return found[1], found[2], headers.get("x-amz-security-token")


def program(folder, body):
    path = folder / "program"
    path.write_text(f"#!{sys.executable}\n{body}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_the_usual_profile(home, proxy):
    write(
        home,
        "[default]\naws_access_key_id = ID1\naws_secret_access_key = S1\n[other]\naws_access_key_id = ID2\n"
        "aws_secret_access_key = S2\naws_session_token = T2\n",
        "[default]\nregion = eu-west-1\n[profile other]\nregion = eu-west-2\n",
    )
    assert sent(proxy, open_store("s3://bucket")) == ("ID1", "eu-west-1", None)
    assert sent(proxy, open_store("s3://bucket", connection=Connection(profile="other"))) == ("ID2", "eu-west-2", "T2")


def test_profile_by_environment_and_files_elsewhere(home, proxy, monkeypatch):
    (home / "keys").write_text("[p]\naws_access_key_id = ID3\naws_secret_access_key = S3\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(home / "keys"))
    monkeypatch.setenv("AWS_PROFILE", "p")
    assert sent(proxy, open_store("s3://bucket"))[0] == "ID3"


def test_keys_of_the_environment_win_over_the_usual_profile_but_not_over_a_named_one(home, proxy, monkeypatch):
    write(home, "[default]\naws_access_key_id = ID1\naws_secret_access_key = S1\n")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "ENV")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "S")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "TOKEN")
    assert sent(proxy, open_store("s3://bucket")) == ("ENV", "us-east-1", "TOKEN")
    assert sent(proxy, open_store("s3://bucket", connection=Connection(profile="default"))) == (
        "ID1",
        "us-east-1",
        None,
    )
    mine = Connection(key_id="MINE", secret="S", region="r1")
    assert sent(proxy, open_store("s3://bucket", connection=mine)) == ("MINE", "r1", None)


def test_endpoint_of_a_profile(home, proxy, monkeypatch):
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    write(
        home,
        "[default]\naws_access_key_id = ID1\naws_secret_access_key = S1\n",
        f"[default]\nendpoint_url = {proxy.endpoint}\n",
    )
    assert sent(proxy, open_store("s3://bucket"))[0] == "ID1"


def test_credential_process_is_asked_again_when_its_answer_ends(home, proxy):
    ends = (datetime.now(UTC) + timedelta(seconds=1)).isoformat()
    answer = {"Version": 1, "AccessKeyId": "ID", "SecretAccessKey": "S", "SessionToken": "T", "Expiration": ends}
    path = program(
        home,
        f"import json, pathlib\nlog = pathlib.Path({str(home / 'log')!r})\n"
        f"log.write_text((log.read_text() if log.exists() else '') + 'x')\nprint({json.dumps(answer)!r})\n",
    )
    write(home, config=f"[default]\ncredential_process = {path} --with 'an argument'\n")
    store = open_store("s3://bucket")
    assert sent(proxy, store) == ("ID", "us-east-1", "T")
    time.sleep(1.1)
    assert sent(proxy, store) == ("ID", "us-east-1", "T")
    assert len((home / "log").read_text()) >= 2


def test_single_sign_on_asks_the_aws_command(home, proxy, monkeypatch):
    answer = json.dumps({"Version": 1, "AccessKeyId": "SSO", "SecretAccessKey": "S", "SessionToken": "T"})
    (home / "bin").mkdir()
    path = program(
        home / "bin",
        "import sys\nassert sys.argv[1:] == 'configure export-credentials --profile work --format process'.split()\n"
        f"print({answer!r})\n",
    )
    path.rename(home / "bin/aws")
    monkeypatch.setenv("PATH", f"{home / 'bin'}")
    write(home, config="[profile work]\nsso_session = corp\nregion = eu-north-1\n")
    assert sent(proxy, open_store("s3://bucket", connection=Connection(profile="work"))) == ("SSO", "eu-north-1", "T")


def test_logins_that_fail_are_explained(home, proxy, monkeypatch):
    path = program(home, "import sys\nprint('my-secret-output')\nsys.exit(3)\n")
    write(home, config=f"[default]\ncredential_process = {path}\n")
    with pytest.raises(CredentialsExpired, match="exit code 3") as caught:
        open_store("s3://bucket", patience=ONCE).get("x")
    assert "my-secret-output" not in str(caught.value)
    program(home, "print('my-secret-output')\n")
    with pytest.raises(CredentialsMissing, match="gave no credentials") as caught:
        open_store("s3://bucket", patience=ONCE).get("x")
    assert "my-secret-output" not in str(caught.value)
    monkeypatch.setenv("PATH", str(home / "empty"))
    write(home, config="[default]\nrole_arn = arn:x\nsource_profile = other\n")
    with pytest.raises(CredentialsMissing, match="AWS command line"):
        open_store("s3://bucket", patience=ONCE).get("x")


def test_files_with_mistakes(home, proxy, monkeypatch):
    write(home, "[default]\naws_access_key_id = ID1\nthis is no line of an ini file, my-secret\n")
    with pytest.raises(InvalidValue, match="credentials") as caught:
        open_store("s3://bucket")
    assert "my-secret" not in str(caught.value)
    with pytest.raises(InvalidValue):
        open_store("s3://bucket", connection=Connection(profile="p"))
    write(home, "[default]\naws_access_key_id = ID1\naws_secret_access_key = %(odd)s%\n")
    assert sent(proxy, open_store("s3://bucket"))[0] == "ID1"
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    with pytest.raises(CredentialsMissing, match="'nobody'"):
        open_store("s3://bucket")
