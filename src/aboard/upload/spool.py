# SPDX-License-Identifier: Apache-2.0
"""The folder of a run on the training machine: what the training writes, and what is remembered about shipping it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from aboard.errors import InvalidValue, StorageUnavailable
from aboard.model.run import Run
from aboard.model.uid import check_uid
from aboard.store.local_files import written_aside
from aboard.store.run.attempt_claim import AttemptClaim, parse_claim, render_claim
from aboard.store.run.run_json import parse_run, render_run


def _everything(_: Path) -> bool:
    return True


@dataclass(frozen=True)
class WatchedFolder:
    """A folder elsewhere whose event files belong to the run."""

    name: str
    folder: Path
    accept: Callable[[Path], bool] = _everything
    """Which files are those of the run, where others write into the same folder."""

    def __post_init__(self) -> None:
        if not self.name or "/" in self.name or self.name in {".", ".."}:
            raise InvalidValue(f"{self.name!r} cannot be the name of a watched folder.", hint="Use a plain name.")


@dataclass(frozen=True)
class Spool:
    """Where the files of a run are. `folder` also keeps its documents and journals."""

    folder: Path
    uid: str
    output: Path
    log: Path | None = None
    watched: tuple[WatchedFolder, ...] = field(default=())

    def __post_init__(self) -> None:
        check_uid(self.uid)

    @classmethod
    def at(cls, folder: str | os.PathLike[str], *, watched: tuple[WatchedFolder, ...] = ()) -> Spool:
        """The usual layout, in a folder that is named by the uid of the run."""
        path = Path(folder).absolute()
        return cls(path, path.name, path / "output", path / "log", watched)

    def journal(self, name: str) -> Path:
        """The journal of one destination."""
        return self.folder / f"{name}.json"

    def read_run(self) -> Run | None:
        """`run.json` as it will stand in the store, if it was written here."""
        data = self._read("run.json")
        return None if data is None else parse_run(data, str(self.folder / "run.json"))

    def write_run(self, run: Run) -> None:
        """Keep `run.json` until a store can be reached."""
        self._write("run.json", render_run(run))

    def read_attempt(self) -> AttemptClaim | None:
        """The claim of the newest attempt on this machine."""
        data = self._read("attempt.json")
        return None if data is None else parse_claim(data, str(self.folder / "attempt.json"))

    def write_attempt(self, claim: AttemptClaim) -> None:
        """Keep the claim, with which shipping can be taken up again."""
        self._write("attempt.json", render_claim(claim))

    def _read(self, name: str) -> bytes | None:
        path = self.folder / name
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StorageUnavailable(f"{path} cannot be read: {error.strerror}.") from None

    def _write(self, name: str, data: bytes) -> None:
        with written_aside(self.folder / name) as file:
            file.write(data)
