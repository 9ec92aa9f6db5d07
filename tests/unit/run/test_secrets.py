# SPDX-License-Identifier: Apache-2.0
"""Secrets in texts, commands and streams."""

from __future__ import annotations

import pytest

from aboard.run.secrets import MaskedStream, Secrets, is_secret_name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("AWS_SECRET_ACCESS_KEY", True),
        ("WANDB_API_KEY", True),
        ("HF_TOKEN", True),
        ("db.password", True),
        ("MYSQL_PWD", True),
        ("AZURE_STORAGE_SAS_TOKEN", True),
        ("PATH", False),
        ("PWD", False),
        ("tokenizer", False),
        ("max_tokens", False),
        ("monkey", False),
        ("keyboard", False),
    ],
)
def test_names_that_tell(name: str, expected: bool) -> None:
    assert is_secret_name(name) is expected


def test_texts() -> None:
    secrets = Secrets.of({"API_KEY": "abcdef-123", "TOKEN": "no", "HOME": "/home/me"}, [])
    assert secrets.mask("x abcdef-123 y no /home/me") == "x ******** y no /home/me"
    assert secrets.mask("https://me:pw@git.example/x.git") == "https://********@git.example/x.git"
    assert secrets.mask("key AKIAIOSFODNN7EXAMPLE.") == "key ********."
    assert secrets.mask_value("", {"a": ["abcdef-123"], "password": "x", "n": 3}) == {
        "a": ["********"],
        "password": "********",
        "n": 3,
    }


def test_commands() -> None:
    secrets = Secrets.of({}, [])
    command = ["env", "TOKEN=a", "train", "--api-key=bb", "--password", "ccc", "--lr", "3", "--secret", "--x"]
    masked = "env TOKEN=******** train --api-key=******** --password ******** --lr 3 --secret --x"
    assert secrets.mask_command(command) == masked.split()


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_streams_find_secrets_wherever_they_are_cut(size: int) -> None:
    secrets = Secrets(["secret", "secret-longer", "retxyz-abc"])
    text = b"a secret, a secret-longer, secsecret-longe secretxyz-abc end sec"
    stream = MaskedStream(secrets)
    shown = b"".join(stream.feed(text[place : place + size]) for place in range(0, len(text), size)) + stream.end()
    for secret in secrets.values:
        assert secret.encode() not in shown
    assert shown.startswith(b"a ********, a ********, sec********-longe ********")
    assert shown.endswith(b" end sec")


def test_streams_hold_back_only_what_may_be_a_secret() -> None:
    stream = MaskedStream(Secrets(["password"]))
    assert stream.feed(b"\xff\x00progress 10%\r") == b"\xff\x00progress 10%\r"
    assert stream.feed(b"passw") == b""
    assert stream.feed(b"ing") == b"passwing"
