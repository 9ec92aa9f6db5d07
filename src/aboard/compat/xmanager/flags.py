# SPDX-License-Identifier: Apache-2.0
"""XManager's flags for launch scripts that use absl: which service accounts jobs have."""

from __future__ import annotations

import importlib
from typing import Any

_KUBERNETES, _GOOGLE = "xm_k8s_service_account_name", "xm_gcp_service_account_name"


def define_flags() -> None:
    """Have absl know the flags, where a script uses absl at all."""
    flags = _absl()
    if flags is None:
        return
    for name, default, told in (
        (_KUBERNETES, "", "Service account of pods."),
        (_GOOGLE, "xmanager", "Service account of jobs on Vertex, without its project."),
    ):
        if name not in flags.FLAGS:
            flags.DEFINE_string(name, default, told)


def kubernetes_service_account() -> str:
    """What --xm_k8s_service_account_name says."""
    return _value(_KUBERNETES, "")


def vertex_service_account(project: str) -> str:
    """What --xm_gcp_service_account_name says, with the project that it belongs to."""
    name = _value(_GOOGLE, "xmanager")
    return name if "@" in name or not project else f"{name}@{project}.iam.gserviceaccount.com"


def _value(name: str, default: str) -> str:
    flags = _absl()
    if flags is None or name not in flags.FLAGS or not flags.FLAGS.is_parsed():
        return default
    return str(flags.FLAGS[name].value or default)


def _absl() -> Any:
    try:
        return importlib.import_module("absl.flags")
    except ImportError:
        return None
