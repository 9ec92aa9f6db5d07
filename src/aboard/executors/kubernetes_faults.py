# SPDX-License-Identifier: Apache-2.0
"""What a Kubernetes API server says when it refuses or is not there, as errors with a next step."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Generator
from typing import Any, cast

from aboard.errors import AboardError, ExecutorNotConfigured, ExecutorUnavailable, MissingPackage, UnitRefused

try:
    import urllib3.exceptions
    from kubernetes import client as _client
    from kubernetes import config as _config
    from kubernetes.config import incluster_config as _incluster
    from yaml import YAMLError
except ImportError as error:
    _hint = "pip install 'aboard[kubernetes]'"
    raise MissingPackage("the executor kubernetes needs the official client", hint=_hint) from error

# The client has no types: what it hands out is looked at as it is.
client, config, incluster = cast("Any", _client), cast("Any", _config), cast("Any", _incluster)
ApiException: type[Exception] = client.ApiException
_ConfigException: type[Exception] = config.ConfigException
# What the library raises for a file that is not there, is none of Kubernetes, or may not be read.
UNREADABLE = (config.ConfigException, YAMLError, TypeError, OSError)


@contextlib.contextmanager
def explained(namespace: str) -> Generator[None]:
    """Errors of the client library become aboard's own."""
    try:
        yield
    except ApiException as error:
        raise _refusal(cast("Any", error), namespace) from error
    except _ConfigException as error:  # tokens are read anew while a connection lasts
        hint = "look at the kubeconfig, or in a pod at the token of its service account"
        raise ExecutorUnavailable(f"who this is to Kubernetes cannot be read: {error}", hint=hint) from error
    except urllib3.exceptions.HTTPError as error:
        hint = "`kubectl cluster-info` tells whether the cluster can be reached"
        raise ExecutorUnavailable(f"the Kubernetes API server does not answer: {error}", hint=hint) from error


def _refusal(error: Any, namespace: str) -> AboardError:
    status = int(error.status or 0)
    said = _message(error)
    if status >= 500 or status in {0, 429}:
        return ExecutorUnavailable(f"the Kubernetes API server failed: {said}")
    if status == 401:
        hint = "your credentials have expired or are not for this cluster: log in again, `kubectl get pods` must work"
        return ExecutorNotConfigured(f"Kubernetes does not know who you are: {said}", hint=hint)
    if status == 403 and "exceeded quota" in said:
        hint = f"`kubectl describe quota --namespace {namespace}` shows it: wait, or ask for less"
        return UnitRefused(f"the quota of the namespace {namespace} is used up: {said}", hint=hint)
    if status == 403:
        hint = f"`kubectl auth can-i create jobs --namespace {namespace}` tells what you may do"
        return UnitRefused(f"Kubernetes does not allow this: {said}", hint=hint)
    if status == 404 and "namespaces" in said:
        return UnitRefused(f"there is no namespace {namespace!r}", hint="`kubectl get namespaces` lists them")
    return UnitRefused(f"Kubernetes refused: {said}")


def _message(error: Any) -> str:
    try:
        return str(json.loads(error.body)["message"])
    except (TypeError, ValueError, KeyError):
        return str(error.reason or error)
