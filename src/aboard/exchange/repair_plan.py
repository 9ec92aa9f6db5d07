# SPDX-License-Identifier: Apache-2.0
"""Which files of some folders a copy gets, and where; links within the folders stay links."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from aboard.exchange.findings import Finding
from aboard.exchange.repair_result import Repair
from aboard.exchange.trees import Folder, walk


@dataclass(slots=True)
class Plan:
    """What to copy to where."""

    folders: list[tuple[Path, Path]] = field(default_factory=list[tuple[Path, Path]])
    event_files: list[tuple[Path, Path]] = field(default_factory=list[tuple[Path, Path]])
    other_files: list[tuple[Path, Path]] = field(default_factory=list[tuple[Path, Path]])
    links: list[tuple[Path, Path]] = field(default_factory=list[tuple[Path, Path]])

    def add(self, folder: Folder, target: Path, *, is_file: bool) -> None:
        """Take in a folder, or of the folder of a file that was named only this file."""
        if not is_file:
            self.folders.append((folder.path, target))
        self.event_files += [(folder.path / name, target / name) for name in folder.event_files]
        self.other_files += [(folder.path / name, target / name) for name in folder.other_files]
        self.links += [(folder.path / name, target / name) for name in folder.links]

    def needed_bytes(self) -> int:
        """Room for all files."""
        return sum(_size(source) for source, _ in self.event_files + self.other_files)


def plan_of(roots: Mapping[str, Path], result: Repair) -> Plan:
    """Look at all that is below the roots; what cannot be copied is noted in the result."""
    plan = Plan()
    status = result.out.stat()

    def tell(finding: Finding) -> None:
        result.leave_out(finding.path, finding.message, missed=finding.code == "unreadable-folder")

    for name, root in roots.items():
        base = result.out / name
        folders = walk(
            root,
            tell,
            is_kept=lambda link, root=root: _stays_inside(link, root),
            is_left_out=lambda identity: identity == (status.st_dev, status.st_ino),
        )
        for folder in folders:
            plan.add(folder, base if folder.name == "." else base / folder.name, is_file=not root.is_dir())
    return plan


def _stays_inside(link: Path, root: Path) -> bool:
    """Whether a link means the same in a copy of the root: it leads from within to within, by names alone."""
    try:
        target = link.readlink()
    except OSError:
        return False
    by_name = os.path.normpath(link.parent.relative_to(root) / target)
    if target.is_absolute() or by_name.split("/")[0] == "..":
        return False
    end = os.path.realpath(link)
    return Path(end).is_relative_to(os.path.realpath(root)) and end == os.path.realpath(root / by_name)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
