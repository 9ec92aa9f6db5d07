# SPDX-License-Identifier: Apache-2.0
"""What may be said about the connection to an object store besides its URI; the environment says the rest."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Literal

from aboard.errors import InvalidValue


@dataclass(frozen=True)
class Patience:
    """How long to wait and how often to try again, so that no call waits for ever.

    A request is repeated when the server answers 5xx or 429, when the connection breaks, and, where repeating cannot do
    harm, when no answer comes. The longest that one request can take is `retry_seconds` + `request_seconds`.
    """

    connect_seconds: float = 10
    stall_seconds: float = 30
    """While reading: without a single byte of an answer."""
    request_seconds: float = 300
    """For a whole request; while writing this is the only limit, because no byte comes before the last one has gone."""
    retries: int = 5
    retry_seconds: float = 60
    first_pause: float = 0.1
    longest_pause: float = 5

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value < 0 or (value == 0 and not name.startswith("retr")):
                raise InvalidValue(f"Patience({name}={value!r}): a positive number is needed.")

    def client_options(self, *, writing: bool) -> dict[str, Any]:
        """The same for obstore."""
        stall = self.request_seconds if writing else self.stall_seconds
        return {
            "connect_timeout": timedelta(seconds=self.connect_seconds),
            "read_timeout": timedelta(seconds=stall),
            "timeout": timedelta(seconds=self.request_seconds),
        }

    def retry_config(self) -> dict[str, Any]:
        """The same for obstore."""
        pauses = {
            "init_backoff": timedelta(seconds=self.first_pause),
            "max_backoff": timedelta(seconds=self.longest_pause),
            "base": 2,
        }
        return {
            "max_retries": self.retries,
            "retry_timeout": timedelta(seconds=self.retry_seconds),
            "backoff": pauses,
        }


@dataclass(frozen=True)
class Connection:
    """Settings of an object store that win over the environment; what is empty is looked up there."""

    endpoint: str = ""
    """URL of the service, such as http://127.0.0.1:9000, without the bucket."""
    region: str = ""
    addressing: Literal["auto", "path", "virtual"] = "auto"
    """Where the bucket stands: after the host, before it, or as is usual for the endpoint."""
    anonymous: bool = False
    """Send no credentials: for public buckets."""
    profile: str = ""
    """Section of the AWS credentials and config files."""
    account: str = ""
    """Azure storage account."""
    key_id: str = field(default="", repr=False)
    secret: str = field(default="", repr=False)
    """Secret of `key_id`; on Azure the account key or a shared access signature; on Google a bearer token."""
    session_token: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        if self.addressing not in {"auto", "path", "virtual"}:
            raise InvalidValue(f"addressing={self.addressing!r}: auto, path or virtual is allowed.")
        if self.endpoint and not self.endpoint.startswith(("http://", "https://")):
            raise InvalidValue(
                f"The endpoint {self.endpoint!r} is not a URL.", hint=f"Write it as https://{self.endpoint}."
            )
