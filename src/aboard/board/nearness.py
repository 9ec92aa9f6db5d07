# SPDX-License-Identifier: Apache-2.0
"""Whether a browser runs on this machine: then compressing an answer takes longer than sending it whole.

What comes from loopback may also come from the near end of a tunnel, whose far end is what counts. A proxy tells of
itself in a header; of ssh, of an editor's forwarded ports and of `kubectl port-forward` the environment of this process
tells, which then was started from afar.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from typing import Any

_OF_PROXIES = (
    "HTTP_FORWARDED",
    "HTTP_X_FORWARDED_FOR",
    "HTTP_X_FORWARDED_HOST",
    "HTTP_X_FORWARDED_PROTO",
    "HTTP_X_REAL_IP",
    "HTTP_VIA",
)
_OF_TUNNELS = (
    "SSH_CONNECTION",
    "SSH_CLIENT",
    "VSCODE_IPC_HOOK_CLI",  # in terminals of its server, not in those of a desktop
    "CODESPACES",
    "KUBERNETES_SERVICE_HOST",
)


def is_near(request: Mapping[str, Any], process: Mapping[str, str] = os.environ) -> bool:
    """Whether a request with this WSGI environment comes from a browser on this machine, as far as one can know."""
    if any(name in request for name in _OF_PROXIES) or any(name in process for name in _OF_TUNNELS):
        return False
    return _is_loopback(request.get("REMOTE_ADDR", ""))


def _is_loopback(address: str) -> bool:
    try:
        peer = ipaddress.ip_address(address)
    except ValueError:
        return False
    mapped = peer.ipv4_mapped if isinstance(peer, ipaddress.IPv6Address) else None
    return (mapped or peer).is_loopback
