# SPDX-License-Identifier: Apache-2.0
"""What the executors of a test run stood on, for the end of its report; whatever starts a part of it says so here."""

from __future__ import annotations

import platform
import subprocess
from importlib.metadata import version

_SEEN: dict[str, set[str]] = {}


def stood_on(executor: str, what: str) -> None:
    """Note what an executor was tried on."""
    _SEEN.setdefault(executor, set()).add(what)


def merge(others: dict[str, list[str]]) -> None:
    """Add what another process has noted."""
    for executor, sentences in others.items():
        _SEEN.setdefault(executor, set()).update(sentences)


def noted() -> dict[str, list[str]]:
    """What was noted, in order."""
    return {executor: sorted(_SEEN[executor]) for executor in sorted(_SEEN)}


def first_line(*command: str) -> str:
    """What a program says of its version."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = (done.stdout or done.stderr).strip()
    return said.splitlines()[0] if said else "of an unknown version"


def local_stood_on_this_machine() -> None:
    """For local processes, where everything is real."""
    system = f"{platform.system()} {platform.release()}, Python {platform.python_version()}"
    stood_on("local", f"real: processes of this machine ({system})")


def kubernetes_stood_on_own_server(*, has_node: bool) -> None:
    """For tests without a cluster."""
    rest = ", controllers, node; pods are processes of this machine" if has_node else "; no pods run"
    client = f"real: the official client {version('kubernetes')} and its HTTP"
    stood_on("kubernetes", f"{client}; the tests' own: API server at the HTTP level{rest}")


def vertex_stood_on_own_server(*, has_machines: bool) -> None:
    """For Vertex, which is not to be had."""
    jobs = "jobs are processes of this machine" if has_machines else "no jobs run"
    library = f"real: google-cloud-aiplatform {version('google-cloud-aiplatform')} and its REST"
    stood_on("vertex", f"{library}; the tests' own: Vertex AI and Cloud Logging at the HTTP level; {jobs}")
