# SPDX-License-Identifier: Apache-2.0
"""How the runs of a board are called in a mirror, as its template says; a folder that was made keeps its name."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from aboard.model.distinct_names import DistinctNames, Wish
from aboard.model.name_template import Field, NameTemplate, Value, short_form
from aboard.services.board_columns import logdir_columns

_FORMAT, _VERSION = "aboard-mirror-names", 1
_LONGEST_PART = 200  # bytes; file systems take 255
_NOT_SAFE = re.compile(r"[\x00-\x1f\x7f\\]")


class MirrorNames:
    """Names of logdirs, kept in a file beside the mirror so that the next server process gives the same ones."""

    def __init__(self, file: Path, template: NameTemplate) -> None:
        self._file, self._template = file, template
        self._apart = template.lacks(("run", "path"))
        self._distinct = DistinctNames()
        self._given: dict[str, str] = _read(file)

    def give(self, logdirs: Iterable[tuple[str, str]], columns: Mapping[str, Mapping[str, Value]]) -> dict[str, str]:
        """The folder of each logdir, by `uid/logdir`. `logdirs` are pairs of uid and logdir."""
        wishes: dict[str, Wish] = {}
        for uid, logdir in logdirs:
            own = logdir_columns(columns.get(uid, {}), logdir)
            apart = "_".join(short_form(own.get(column)) for column in self._apart)
            wishes[f"{uid}/{logdir}"] = Wish(self._template.render(lambda field, own=own: _value(field, own)), apart)
        taken = set(self._given.values())
        new = {key: name for key, name in self._distinct.give(wishes).items() if key not in self._given}
        for key, name in sorted(new.items()):
            folder, number = safe_path(name), 2
            while folder in taken:
                folder, number = f"{safe_path(name)}_{number}", number + 1
            taken.add(folder)
            self._given[key] = folder
        if new:
            self._write()
        return {key: self._given[key] for key in wishes}

    def drop(self, kept: Collection[str]) -> list[str]:
        """Forget the runs whose uids are not among these; the folders that they had."""
        left = [key for key in self._given if key.partition("/")[0] not in kept]
        folders = [self._given.pop(key) for key in left]
        if folders:
            self._write()
        return folders

    def _write(self) -> None:
        document = {"format": _FORMAT, "version": _VERSION, "names": self._given}
        aside = self._file.with_suffix(".new")
        aside.write_text(json.dumps(document), "utf-8")
        aside.replace(self._file)


def safe_path(name: str) -> str:
    """A relative path that leads nowhere but downwards."""
    parts = [_NOT_SAFE.sub("_", part) for part in name.split("/")]
    kept = [part.encode()[:_LONGEST_PART].decode("utf-8", "ignore") for part in parts if part not in ("", ".", "..")]
    return "/".join(kept) or "run"


def _value(field: Field, columns: Mapping[str, Value]) -> Value:
    if not field.group:
        return columns.get(field.key)
    statistic = f".{field.statistic}" if field.statistic else ""
    return columns.get(f"{field.group}.{field.key}{statistic}")


def _read(file: Path) -> dict[str, str]:
    try:
        document = json.loads(file.read_text("utf-8"))
        is_known = document["format"] == _FORMAT and document["version"] == _VERSION
        return {str(key): safe_path(str(name)) for key, name in document["names"].items()} if is_known else {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}  # then some runs may get another folder; nothing is lost
