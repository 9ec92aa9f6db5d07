# SPDX-License-Identifier: Apache-2.0
"""Whether two processes have the same credentials for a cloud."""

from __future__ import annotations

import pytest

from aboard.config.credentials import CLOUDS, cloud_of, fingerprints
from aboard.store.uri import SCHEMES

KEYS = {"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "very-secret-value"}


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("s3", "AWS_PROFILE"),
        ("s3", "AWS_ENDPOINT_URL"),
        ("s3", "S3_ENDPOINT"),
        ("gs", "GOOGLE_APPLICATION_CREDENTIALS"),
        ("az", "AZURE_STORAGE_CONNECTION_STRING"),
        ("oss", "OSS_ACCESS_KEY_ID"),
    ],
)
def test_each_variable_counts_for_its_cloud_alone(kind: str, name: str) -> None:
    before, after = fingerprints(KEYS, "salt"), fingerprints({**KEYS, name: "x"}, "salt")
    assert before["s3"]
    assert {one for one in CLOUDS if before[one] != after[one]} == {kind}


def test_who_has_no_login_has_no_fingerprint_and_other_variables_do_not_count() -> None:
    region = {"PATH": "/bin", "AWS_PAGER": "less", "AWS_REGION": "eu-west-1", "AWS_ENDPOINT_URL": "http://x"}
    assert set(fingerprints({**region, "AWS_ACCESS_KEY_ID": ""}, "salt").values()) == {""}
    assert fingerprints({**KEYS, "AWS_PAGER": "less"}, "salt") == fingerprints(dict(reversed(KEYS.items())), "salt")


def test_a_fingerprint_shows_no_secret_and_is_of_one_salt() -> None:
    found = fingerprints(KEYS, "salt")
    assert "very-secret-value" not in repr(found)
    assert found["s3"] != fingerprints(KEYS, "other")["s3"]


def test_every_uri_of_a_store_has_its_cloud() -> None:
    for scheme, kind in SCHEMES.items():
        assert cloud_of(f"{scheme}://bucket/x") == (kind if kind in CLOUDS else "")
    assert cloud_of("run7") == cloud_of("/folder") == ""
