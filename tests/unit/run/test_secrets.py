# SPDX-License-Identifier: Apache-2.0
"""Secrets in texts, commands and streams."""

from __future__ import annotations

import pytest

from aboard.model.names import is_secret_name
from aboard.run.secrets import MASK, MaskedStream, Secrets
from support.cases import all_cases

SECRET_NAMES = [
    "AWS_SECRET_ACCESS_KEY",
    "WANDB_API_KEY",
    "HF_TOKEN",
    "db.password",
    "MYSQL_PWD",
    "AZURE_STORAGE_SAS_TOKEN",
    "AZURE_STORAGE_SAS",
    "AZURE_STORAGE_CONNECTION_STRING",
    "connectionString",
    "DB_CONN_STR",
    "DB_PASS",
    "SMTP_PASS",
    "dbPass",
    "db_pass",
    "pass",
    "SSHPASS",
    "PASS_2",
    "SSH_PASSPHRASE",
    "passphrase",
    "auth",
    "REGISTRY_AUTH",
    "SENTRY_DSN",
    "dsn",
    "apiKey",
    "client-secret",
]
HARMLESS_NAMES = [
    "PATH",
    "PWD",
    "tokenizer",
    "max_tokens",
    "eos_token",
    "token_count",
    "monkey",
    "keyboard",
    "sort_key",
    "pass-rate",
    "pass_rate",
    "bypass",
    "compass",
    "low_pass",
    "forward-pass",
    "num_pass",
    "passes",
    "passenger",
    "author",
    "auth_method",
    "no-auth",
    "SSH_AUTH_SOCK",
    "sass",
    "design",
]


@all_cases(("name", "expected"), [(name, True) for name in SECRET_NAMES] + [(name, False) for name in HARMLESS_NAMES])
def test_secret_names(name: str, expected: bool) -> None:
    assert is_secret_name(name) is expected


# What must be masked, and what must be left of it.
SHAPES = [
    ("key AKIAIOSFODNN7EXAMPLE.", f"key {MASK}."),
    ("ASIAIOSFODNN7EXAMPLE", MASK),
    ("ghp_" + "a1B2" * 9, MASK),
    ("github_pat_" + "a1B2_" * 10, MASK),
    ("token=hf_" + "a1B2" * 8, f"token={MASK}"),
    ("sk-" + "a1B2-" * 5, MASK),
    ("glpat-" + "a1B2" * 5, MASK),
    ("aboard_0123456789abcdef_" + "x" * 43, MASK),
    ("jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlLXg end", f"jwt {MASK} end"),
    ("postgresql://user:hunter2222@db/x", f"postgresql://{MASK}@db/x"),
    ("https://me:pw@git.example/x.git", f"https://{MASK}@git.example/x.git"),
    ("https://me:p@ssW0rd@github.com/x/y@z", f"https://{MASK}@github.com/x/y@z"),
    ("redis://:p@a:b@cache:6379/0", f"redis://{MASK}@cache:6379/0"),
    ("mysql://root:pa/ss@db:3306", f"mysql://{MASK}@db:3306"),
    ("http://127.0.0.1:8888/?token=abcdef&x=1", f"http://127.0.0.1:8888/?token={MASK}&x=1"),
    ("https://a.blob/x?sv=2020&sig=ab%2Bcd", f"https://a.blob/x?sv=2020&sig={MASK}"),
    ("AccountName=a;AccountKey=" + "aB3+" * 21 + "ab==;E=x", f"AccountName=a;AccountKey={MASK};E=x"),
]
HARMLESS_TEXTS = [
    "ssh://git@github.com/x",
    "git@github.com:x/y.git",
    "http://host:8080/npm/@scope/pkg",
    "mail me@example.com",
    "risk-adjusted-returns-and-more-of-it",
    "step 3: loss=0.1, key=train, token=5, pass 3/4",
    "https://example.com/a?page=2&sort=name",
]


@all_cases(("text", "expected"), SHAPES + [(text, text) for text in HARMLESS_TEXTS])
def test_shapes_in_texts_and_in_streams_cut_anywhere(text: str, expected: str) -> None:
    line, wanted = f"before {text}\nafter", f"before {expected}\nafter"
    assert Secrets([]).mask(line) == wanted
    for size in (1, 2, 5, 1000):
        assert _streamed(Secrets([]), line.encode(), size) == wanted.encode()
    for cut in range(1, len(line)):
        stream = MaskedStream(Secrets([]))
        assert stream.feed(line[:cut].encode()) + stream.feed(line[cut:].encode()) + stream.end() == wanted.encode()


def test_a_secret_behind_a_very_long_word_is_masked() -> None:
    text = b"=" + b"x" * 100_000 + b" ghp_" + b"a" * 36 + b"\n"
    assert _streamed(Secrets([]), text, 4096) == b"=" + b"x" * 100_000 + b" " + MASK.encode() + b"\n"


def test_parts_of_connection_strings_and_passwords_of_addresses_are_secrets_by_themselves() -> None:
    environ = {
        "AZURE_STORAGE_CONNECTION_STRING": "AccountName=models;AccountKey=c2hvcnQta2V5;EndpointSuffix=core.example",
        "DATABASE_URL": "postgresql://me:hunter2222@db/x",
        "REPORT_DSN": "host=db password=dsn-password",
    }
    masked = Secrets.of(environ, []).mask("c2hvcnQta2V5 hunter2222 dsn-password models core.example")
    assert masked == f"{MASK} {MASK} {MASK} models core.example"


def _streamed(secrets: Secrets, text: bytes, size: int) -> bytes:
    stream = MaskedStream(secrets)
    return b"".join(stream.feed(text[place : place + size]) for place in range(0, len(text), size)) + stream.end()


def test_texts() -> None:
    secrets = Secrets.of({"API_KEY": "abcdef-123", "TOKEN": "no", "HOME": "/home/me"}, [])
    assert secrets.mask("x abcdef-123 y no /home/me") == "x ******** y no /home/me"
    given = {"a": ["abcdef-123"], "password": "x", "n": 3, "db_pass": 12345678, "tokens": 512, "api_keys": ["b"]}
    assert secrets.mask_value("", given) == {
        "a": [MASK],
        "password": MASK,
        "n": 3,
        "db_pass": MASK,
        "tokens": 512,
        "api_keys": [MASK],
    }


def test_commands() -> None:
    secrets = Secrets.of({}, [])
    command = ["env", "TOKEN=a", "train", "--api-key=bb", "--password", "ccc", "--lr", "3", "--secret", "--x"]
    masked = "env TOKEN=******** train --api-key=******** --password ******** --lr 3 --secret --x"
    assert secrets.mask_command(command) == masked.split()


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["x", "--pass", "abc"], ["x", "--pass", MASK]),
        (["x", "--passphrase=abc def"], ["x", f"--passphrase={MASK}"]),
        (["x", "--auth", "me:abc"], ["x", "--auth", MASK]),
        (["x", "--dsn", "a=b"], ["x", "--dsn", MASK]),
        (["x", "--pass-rate", "3", "--bypass", "train.py"], ["x", "--pass-rate", "3", "--bypass", "train.py"]),
        (["x", "--no-auth", "train.py"], ["x", "--no-auth", "train.py"]),
        (["x", "--db", "mysql://me:p@ss@db/x"], ["x", "--db", f"mysql://{MASK}@db/x"]),
        (["sh", "-c", "A_TOKEN=abc x --pass 'd e' -v 1"], ["sh", "-c", f"A_TOKEN={MASK} x --pass '{MASK}' -v 1"]),
    ],
)
def test_options(command: list[str], expected: list[str]) -> None:
    assert Secrets.of({}, command).mask_command(command) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("+API_TOKEN=changedtoken456", f"+API_TOKEN={MASK}"),
        ("-export DB_PASS=old pass", f"-export DB_PASS={MASK}"),
        (" db_password: hunter2222", f" db_password: {MASK}"),
        ('+    client = Client(api_key="abc", retries=3)', f'+    client = Client(api_key="{MASK}", retries=3)'),
        ('+  "password": "abc",', f'+  "password": "{MASK}",'),
        ("+url = https://me:p@ss@db/x", f"+url = https://{MASK}@db/x"),
        ("+sorted(runs, key=lambda run: run.name)", "+sorted(runs, key=lambda run: run.name)"),
        ("+    token: str", "+    token: str"),
        ("+    token = tokens[3]", "+    token = tokens[3]"),
        ('+  {"key": "loss"}', '+  {"key": "loss"}'),
        ("+pass_rate=3", "+pass_rate=3"),
    ],
)
def test_lines_of_diffs(line: str, expected: str) -> None:
    around = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n{}\n+last\n"
    assert Secrets([]).mask_diff(around.format(line)) == around.format(expected)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_streams_find_secrets_wherever_they_are_cut(size: int) -> None:
    secrets = Secrets(["secret", "secret-longer", "retxyz-abc"])
    text = b"a secret, a secret-longer, secsecret-longe secretxyz-abc end sec"
    shown = _streamed(secrets, text, size)
    for secret in secrets.values:
        assert secret.encode() not in shown
    assert shown.startswith(b"a ********, a ********, sec********-longe ********")
    assert shown.endswith(b" end sec")


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_streams_find_secrets_of_several_words_wherever_they_are_cut(size: int) -> None:
    assert _streamed(Secrets(["correct horse battery"]), b"it is correct horse battery, really", size) == (
        f"it is {MASK}, really".encode()
    )


def test_streams_hold_back_only_what_may_be_a_secret() -> None:
    stream = MaskedStream(Secrets(["password"]))
    assert stream.feed(b"\xff\x00progress 10%\r") == b"\xff\x00progress 10%\r"
    assert stream.feed(b"passw") == b""
    assert stream.feed(b"ing ") == b"passwing "
    assert stream.feed(b"....") == b"...."
