# SPDX-License-Identifier: Apache-2.0
"""Profiles of the AWS files ~/.aws/credentials and ~/.aws/config, which obstore does not read.

Static keys are taken as they are. For `credential_process` the named command is run, and for single sign-on, assumed
roles and other kinds of login the AWS command line is asked, which knows all of them.
"""

from __future__ import annotations

import configparser
import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from aboard.errors import CredentialsExpired, CredentialsMissing, InvalidValue, StoreError

PROCESS_SECONDS = 60
_LOGINS = ("sso_session", "sso_start_url", "role_arn", "web_identity_token_file", "login_session")


class Login:
    """Asks for credentials, and remembers why there were none: obstore passes on only the text of an error."""

    def __init__(self, ask: Callable[[], dict[str, Any]]) -> None:
        self._ask = ask
        self.failure: StoreError | None = None

    def __call__(self) -> dict[str, Any]:
        try:
            return self._ask()
        except StoreError as error:
            self.failure = error
            raise


@dataclass(frozen=True)
class AwsProfile:
    """What the files say under one name."""

    name: str
    values: Mapping[str, str] = field(repr=False)

    @property
    def region(self) -> str:
        return self.values.get("region", "")

    @property
    def endpoint(self) -> str:
        return self.values.get("endpoint_url", "")

    def login(self) -> Login | None:
        """Where obstore gets credentials whenever it needs some; None if the profile has none."""
        if self.values.get("aws_access_key_id"):
            static = _static(self.values)
            return Login(lambda: static)
        if command := self.values.get("credential_process"):
            return Login(lambda: _from_process(shlex.split(command), self.name))
        if any(name in self.values for name in _LOGINS):
            return Login(lambda: _from_process(_aws_command(self.name), self.name))
        return None


def read_profile(name: str, environment: Mapping[str, str]) -> AwsProfile | None:
    """The profile of this name; without a name the usual one, or None if the files have none."""
    wanted = name or environment.get("AWS_PROFILE") or environment.get("AWS_DEFAULT_PROFILE") or "default"
    values: dict[str, str] = {}
    for variable, usual, section in (
        ("AWS_CONFIG_FILE", "config", wanted if wanted == "default" else f"profile {wanted}"),
        ("AWS_SHARED_CREDENTIALS_FILE", "credentials", wanted),
    ):
        path = Path(environment.get(variable) or Path.home() / ".aws" / usual).expanduser()
        values |= _section(path, section)
    if not values and wanted != "default":
        raise CredentialsMissing(
            f"There is no AWS profile {wanted!r}.",
            hint="Look at ~/.aws/config and ~/.aws/credentials, or unset AWS_PROFILE.",
        )
    return AwsProfile(wanted, values) if values else None


def _section(path: Path, name: str) -> dict[str, str]:
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(path.read_text("utf-8"), source=str(path))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise CredentialsMissing(f"{path} cannot be read: {error.strerror}.") from None
    except (configparser.Error, UnicodeDecodeError) as error:
        line = getattr(error, "lineno", None)
        where = f", line {line}" if line else ""
        raise InvalidValue(f"{path}{where} is not in the format of the AWS files.") from None
    return dict(parser[name]) if parser.has_section(name) else {}


def _static(values: Mapping[str, str]) -> dict[str, Any]:
    return {
        "access_key_id": values["aws_access_key_id"].strip(),
        "secret_access_key": values.get("aws_secret_access_key", "").strip(),
        "token": values.get("aws_session_token", "").strip() or None,
        "expires_at": None,
    }


def _aws_command(profile: str) -> list[str]:
    aws = shutil.which("aws")
    if aws is None:
        raise CredentialsMissing(
            f"The AWS profile {profile!r} needs the AWS command line to log in, and there is none.",
            hint='Install it, or run elsewhere: eval "$(aws configure export-credentials --format env)".',
        )
    return [aws, "configure", "export-credentials", "--profile", profile, "--format", "process"]


def _from_process(command: list[str], profile: str) -> dict[str, Any]:
    """Credentials that a command prints as JSON; its output is never shown."""
    hint = f"Try it by hand: {shlex.join(command)}"
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=PROCESS_SECONDS, check=True, env=os.environ, stdin=subprocess.DEVNULL
        )
        said = json.loads(done.stdout)
        expires = said.get("Expiration")
        return {
            "access_key_id": said["AccessKeyId"],
            "secret_access_key": said["SecretAccessKey"],
            "token": said.get("SessionToken"),
            "expires_at": datetime.fromisoformat(expires.replace("Z", "+00:00")) if expires else None,
        }
    except subprocess.CalledProcessError as error:
        raise CredentialsExpired(
            f"The login of the AWS profile {profile!r} failed with exit code {error.returncode}; it may have expired.",
            hint=hint,
        ) from None
    except (OSError, subprocess.TimeoutExpired, ValueError, KeyError, AttributeError) as error:
        reason = type(error).__name__
        raise CredentialsMissing(
            f"The command of the AWS profile {profile!r} gave no credentials ({reason}).", hint=hint
        ) from None
