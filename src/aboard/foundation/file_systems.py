# SPDX-License-Identifier: Apache-2.0
"""Facts about a folder: whether it lies on a network file system, and whether it may belong to a git work tree."""

from __future__ import annotations

import os
import re
from pathlib import Path

_MOUNTS = Path("/proc/self/mountinfo")  # Linux only; elsewhere none is known
_NETWORK = re.compile(
    r"(fuse\.)?(nfs\d?|cifs|smb\d?|smbfs|9p|afs|ncpfs|ceph|glusterfs|lustre|gpfs|beegfs\w*|pvfs2|orangefs|davfs2?|"
    r"sshfs|s3fs|goofys|gcsfuse|rclone|blobfuse2?|ossfs|juicefs|mountpoint-s3|seaweedfs|hdfs\w*)"
)


def network_file_system_of(path: Path) -> str:
    """The kind of the network file system on which `path` lies or would lie; empty when it is one of this machine."""
    kind = file_system_of(path, _MOUNTS.read_text("utf-8", "replace")) if _MOUNTS.exists() else ""
    return kind if _NETWORK.fullmatch(kind) else ""


def file_system_of(path: Path, mounts: str) -> str:
    """The kind of the file system that holds `path`, which need not exist, by the lines of mountinfo."""
    place = path.resolve()
    kinds: dict[Path, str] = {}
    for line in mounts.splitlines():
        before, separator, after = line.partition(" - ")
        if separator and len(before.split(" ")) > 4 and after:
            kinds[Path(_unescaped(before.split(" ")[4]))] = after.split(" ")[0]
    return next((kinds[folder] for folder in (place, *place.parents) if folder in kinds), "")


def _unescaped(mount_point: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal.group(1), 8)), mount_point)


def may_be_work_tree(folder: Path) -> bool:
    """False where neither the folder nor one above it has a `.git`, and the environment names none."""
    resolved = folder.resolve()
    return "GIT_DIR" in os.environ or any((place / ".git").exists() for place in (resolved, *resolved.parents))
