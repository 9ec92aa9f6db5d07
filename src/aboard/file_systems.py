# SPDX-License-Identifier: Apache-2.0
"""Tells file systems of this machine from those that several machines share."""

from __future__ import annotations

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
