# SPDX-License-Identifier: Apache-2.0
"""Clients of Vertex AI by Google's own library over REST, and what it refuses as errors with a next step."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Generator
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from aboard.errors import AboardError, ExecutorUnavailable, MissingPackage, UnitRefused

try:
    # Named by text: the library is large, and checkers work without it.
    vertex: Any = importlib.import_module("google.cloud.aiplatform_v1")
    _faults: Any = importlib.import_module("google.api_core.exceptions")
    _auth: Any = importlib.import_module("google.auth")
    _auth_faults: Any = importlib.import_module("google.auth.exceptions")
    _credentials: Any = importlib.import_module("google.auth.credentials")
    _requests: Any = importlib.import_module("google.auth.transport.requests")
except ImportError:
    hint = "pip install 'aboard[vertex]'"
    raise MissingPackage("the executor vertex needs google-cloud-aiplatform", hint=hint) from None

_SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)
_LOGGING = "https://logging.googleapis.com"


@dataclass(frozen=True)
class VertexClients:
    """What speaks to one region of one project. What an http:// address leads to gets no credentials."""

    project: str
    location: str
    endpoint: str = ""

    @property
    def parent(self) -> str:
        return f"projects/{self.project}/locations/{self.location}"

    @cached_property
    def jobs(self) -> Any:
        return self._client("JobService")

    @cached_property
    def tensorboards(self) -> Any:
        return self._client("TensorboardService")

    def log_entries(self, body: dict[str, Any]) -> dict[str, Any]:
        """One page of entries of Cloud Logging, which the library has no call for."""
        with _requests.AuthorizedSession(self._credentials) as session:
            base = self.endpoint if self._is_plain else _LOGGING
            answer = session.post(f"{base}/v2/entries:list", json=body, timeout=60)
        if answer.status_code != 200:
            raise _faults.from_http_response(answer)
        return answer.json()

    @property
    def _is_plain(self) -> bool:
        return self.endpoint.startswith("http://")

    @cached_property
    def _credentials(self) -> Any:
        return _credentials.AnonymousCredentials() if self._is_plain else _auth.default(scopes=_SCOPES)[0]

    def _client(self, service: str) -> Any:
        kind = getattr(vertex, f"{service}Client")
        host = urlsplit(self.endpoint).netloc or self.endpoint or f"{self.location}-aiplatform.googleapis.com"
        transport = kind.get_transport_class("rest")
        scheme = "http" if self._is_plain else "https"
        return kind(transport=transport(host=host, credentials=self._credentials, url_scheme=scheme))


def default_project() -> str:
    """The project of the person's credentials; empty where there is none."""
    try:
        return _auth.default(scopes=_SCOPES)[1] or ""
    except _auth_faults.GoogleAuthError:
        return ""


def is_absent(error: BaseException) -> bool:
    return isinstance(error, _faults.NotFound)


@contextlib.contextmanager
def translate_errors(clients: VertexClients) -> Generator[None]:
    try:
        yield
    except _auth_faults.GoogleAuthError as error:
        hint = "`gcloud auth application-default login`, or name a key file in GOOGLE_APPLICATION_CREDENTIALS"
        raise ExecutorUnavailable(f"Google does not know who you are: {error}", hint=hint) from error
    except _faults.GoogleAPICallError as error:
        raise _refusal(error, clients) from error
    except OSError as error:  # of requests, which has no other ancestor
        raise ExecutorUnavailable(f"Vertex AI does not answer: {error}", hint="try again later") from error


def _refusal(error: Any, clients: VertexClients) -> AboardError:
    said = str(error.message or error)
    if isinstance(error, _faults.Unauthenticated):
        hint = "log in again: `gcloud auth application-default login`"
        return ExecutorUnavailable(f"Google does not know who you are: {said}", hint=hint)
    if isinstance(error, _faults.ResourceExhausted | _faults.TooManyRequests):
        hint = f"look at the quotas of Vertex AI in {clients.location}, ask for less, or name another location="
        return UnitRefused(f"the quota of {clients.project} is used up: {said}", hint=hint)
    if isinstance(error, _faults.Forbidden):
        hint = f"ask for the role Vertex AI User in {clients.project}, and that its API is enabled"
        return UnitRefused(f"Vertex AI does not allow this: {said}", hint=hint)
    if isinstance(error, _faults.ServerError):
        return ExecutorUnavailable(f"Vertex AI failed: {said}", hint="try again later")
    return UnitRefused(f"Vertex AI refused: {said}", hint=f"asked in {clients.parent}")
