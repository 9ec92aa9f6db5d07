# SPDX-License-Identifier: Apache-2.0
"""Secrets that somebody can guess are refused where the server reads them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from aboard.cli.server.options import choose_token
from aboard.config.server import check_chosen_secret
from aboard.config.settings import Settings
from aboard.errors import InvalidValue


@pytest.mark.parametrize(
    ("secret", "reason"),
    [
        ("x", "has 1 character,"),
        ("fifteen-letters", "has 15 characters"),
        ("1234567890123456", "has digits only"),
        ("passwordpassword", "has 7 different characters"),
        ("a" * 64, "has 1 different character,"),
    ],
)
def test_a_secret_that_can_be_guessed_is_refused(secret: str, reason: str) -> None:
    with pytest.raises(InvalidValue, match=reason) as caught:
        check_chosen_secret(secret, "The secret", "openssl rand -hex 24")
    assert "openssl rand -hex 24" in str(caught.value.hint)
    assert len(secret) < 2 or secret not in str(caught.value)


@pytest.mark.parametrize("secret", ["0f" * 4 + "3a91c27be4d85f60", "a-token-for-tests-only", "kJ3_vQ9-xZ2mNb7w"])
def test_other_secrets_are_accepted(secret: str) -> None:
    check_chosen_secret(secret, "The secret", "openssl rand -hex 24")


@pytest.mark.parametrize("is_loopback", [True, False])
def test_the_token_of_a_server_is_checked_on_every_address(tmp_path: Path, *, is_loopback: bool) -> None:
    settings = replace(Settings(home=tmp_path), token="1234567890123456")
    with pytest.raises(InvalidValue, match=r"The token of the server has digits only"):
        choose_token(settings, is_loopback=is_loopback)
    strong = replace(settings, token="a-token-for-tests-only")
    assert choose_token(strong, is_loopback=is_loopback).text == "a-token-for-tests-only"


def test_the_local_server_ignores_the_token_for_other_servers(tmp_path: Path) -> None:
    settings = replace(Settings(home=tmp_path), token="1")
    assert len(choose_token(settings, is_loopback=True, is_private=True).text) >= 32
