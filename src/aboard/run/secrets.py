# SPDX-License-Identifier: Apache-2.0
"""Takes secrets out of what is captured: values of variables with telling names, arguments, passwords in addresses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

MASK = "********"
_SHORTEST = 6  # shorter values are words such as `true`, and masking them everywhere would say what they are
_LONGEST = 16 << 10
_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|PWD|CREDENTIAL|AUTHORIZATION|PRIVATE|SIGNATURE|COOKIE|(?<![A-Z])SAS", re.I)
# Words in which the pattern is found but which name no secret.
_HARMLESS = re.compile(
    r"KEYBOARD|KEYMAP|KEYWORD|TOKENIZER|NUM_TOKENS|MAX_TOKENS|MAX_NEW_TOKENS|TOKENS_PER|PUBLIC_KEY"
    r"|^(OLD)?PWD$|SSH_AUTH_SOCK|MONKEY|KEYS?_FILE$|_PATH$",
    re.I,
)
_IN_ADDRESS = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*://)(?P<secret>[^\s/@:]*:[^\s/@]+|[^\s/@:]{16,})@", re.I)
# Shapes of keys that are known to everybody: GitHub, Hugging Face, OpenAI and its like, AWS, Google, Slack, JWT.
_SHAPES = re.compile(
    r"gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{40,}|hf_[A-Za-z0-9]{30,}|sk-[A-Za-z0-9_-]{20,}"
    r"|(?:AKIA|ASIA)[0-9A-Z]{16}|AIza[A-Za-z0-9_-]{35}|xox[abprs]-[A-Za-z0-9-]{10,}"
    r"|eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"
)
_OPTION = re.compile(r"--?(?P<name>[A-Za-z0-9][A-Za-z0-9_.-]*)(?:=(?P<value>.*))?", re.S)
_ASSIGNMENT = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_.-]*)=(?P<value>.+)", re.S)


def is_secret_name(name: str) -> bool:
    """Whether what is called so is not to be shown."""
    return _NAME.search(name) is not None and _HARMLESS.search(name) is None


class Secrets:
    """What must not be seen in anything that is captured."""

    def __init__(self, values: Iterable[str]) -> None:
        lines = {line.strip() for value in values for line in value.splitlines()}
        kept = sorted((line for line in lines if _SHORTEST <= len(line) <= _LONGEST), key=len, reverse=True)
        self.values = tuple(kept)
        self._texts = re.compile("|".join(map(re.escape, kept))) if kept else None

    @classmethod
    def of(cls, environ: Mapping[str, str], command: Sequence[str]) -> Secrets:
        """Those of an environment and a command line."""
        in_environment = [value for name, value in environ.items() if is_secret_name(name)]
        return cls([*in_environment, *_secret_arguments(command)])

    def mask(self, text: str) -> str:
        """A text without secrets."""
        if self._texts is not None:
            text = self._texts.sub(MASK, text)
        text = _IN_ADDRESS.sub(lambda found: f"{found['scheme']}{MASK}@", text)
        return _SHAPES.sub(MASK, text)

    def mask_value(self, name: str, value: object) -> object:
        """A value without secrets, whatever it is; wholly masked when its name says so."""
        if isinstance(value, Mapping):
            inner = cast("Mapping[object, object]", value)
            return {self.mask(str(key)): self.mask_value(str(key), one) for key, one in inner.items()}
        if isinstance(value, (list, tuple)):
            return [self.mask_value("", one) for one in cast("list[object]", value)]
        if isinstance(value, str) and value:
            return MASK if is_secret_name(name) else self.mask(value)
        return value

    def mask_command(self, command: Sequence[str]) -> list[str]:
        """A command line without secrets."""
        own = Secrets([*self.values, *_secret_arguments(command)])
        hidden = set(_secret_arguments(command))  # also those that are too short to be masked elsewhere
        return [own.mask(MASK if part in hidden else _masked_assignment(part, hidden)) for part in command]


def _masked_assignment(part: str, hidden: set[str]) -> str:
    name, separator, value = part.partition("=")
    return f"{name}={MASK}" if separator and value in hidden else part


def _secret_arguments(command: Sequence[str]) -> list[str]:
    """Values of `--api-key VALUE`, `--api-key=VALUE` and `API_KEY=VALUE`."""
    found: list[str] = []
    for place, part in enumerate(command):
        option = _OPTION.fullmatch(part)
        if option and is_secret_name(option["name"]):
            if option["value"] is not None:
                found.append(option["value"])
            elif place + 1 < len(command) and not command[place + 1].startswith("-"):
                found.append(command[place + 1])
        elif (given := _ASSIGNMENT.fullmatch(part)) and is_secret_name(given["name"]):
            found.append(given["value"])
    return [value for value in found if value]


class MaskedStream:
    """Masks bytes as they come. A secret that is cut in two by reading is still found: what may begin one waits."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = [value.encode("utf-8", "surrogateescape") for value in secrets.values]
        self._pattern = re.compile(b"|".join(map(re.escape, self._secrets))) if self._secrets else None
        self._waiting = b""

    def feed(self, data: bytes) -> bytes:
        """What can be shown now."""
        if self._pattern is None:
            return data
        text = self._waiting + data
        shown = len(text) - max(len(self._begun(text, secret)) for secret in self._secrets)
        for found in self._pattern.finditer(text):
            if found.start() < shown < found.end():  # the end of one secret may be the beginning of another
                shown = found.start()
        self._waiting = text[shown:]
        return self._pattern.sub(MASK.encode(), text[:shown])

    def end(self) -> bytes:
        """The rest."""
        rest, self._waiting = self._waiting, b""
        return self._pattern.sub(MASK.encode(), rest) if self._pattern else rest

    @staticmethod
    def _begun(text: bytes, secret: bytes) -> bytes:
        """The longest end of `text` with which `secret` begins."""
        place = text.find(secret[:1], max(0, len(text) - len(secret) + 1))
        while place >= 0:
            if secret.startswith(text[place:]):
                return text[place:]
            place = text.find(secret[:1], place + 1)
        return b""
