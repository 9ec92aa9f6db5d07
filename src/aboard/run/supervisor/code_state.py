# SPDX-License-Identifier: Apache-2.0
"""Which code a run was started with: commit, branch, and what was changed since, as far as git knows it."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from pathlib import Path

DIFF_BYTES = 1 << 20
_SECONDS = 10
# Files that hold secrets and little else; what is masked elsewhere is masked by name.
_WITHOUT = (".env*", "*.env", "*.pem", "*.key", ".netrc")


@dataclass(frozen=True)
class CodeState:
    """What git says about a folder."""

    details: dict[str, object] = field(default_factory=dict[str, object])
    diff: bytes = b""
    """Against the commit, without untracked files and files of secrets; cut off when it is very long."""


def code_state(folder: Path) -> CodeState | None:
    """The state of the repository around a folder; None where there is none, or no git."""
    commit = _git(folder, "rev-parse", "HEAD")
    root = _git(folder, "rev-parse", "--show-toplevel")
    if root is None:
        return None
    changes = _git(folder, "status", "--porcelain", "--untracked-files=normal") or b""
    details: dict[str, object] = {
        "root": _text(root),
        "commit": _text(commit),
        "branch": _text(_git(folder, "symbolic-ref", "--short", "-q", "HEAD")),
        "remote": _text(_git(folder, "config", "--get", "remote.origin.url")),
        "is_changed": bool(changes.strip()),
        "untracked": [line[3:].decode("utf-8", "replace") for line in changes.splitlines() if line.startswith(b"??")][
            :100
        ],
    }
    without = [f":(top,exclude,icase,glob)**/{pattern}" for pattern in _WITHOUT]
    changed = _git(folder, "diff", "--no-color", "--no-ext-diff", "HEAD", "--", ":(top)", *without) if commit else None
    diff = changed or b""
    if len(diff) > DIFF_BYTES:
        details["diff_left_out"] = len(diff) - DIFF_BYTES
        diff = diff[:DIFF_BYTES] + b"\n[aboard: the rest was left out]\n"
    return CodeState({name: value for name, value in details.items() if value not in ("", [])}, diff)


def _git(folder: Path, *arguments: str) -> bytes | None:
    # Locks are left alone: a person may be working in the same repository.
    command = ["git", "--no-optional-locks", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_SECONDS, stdin=subprocess.DEVNULL, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def _text(output: bytes | None) -> str:
    return (output or b"").decode("utf-8", "replace").strip()
