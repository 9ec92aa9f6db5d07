# SPDX-License-Identifier: Apache-2.0
"""TensorBoard's projector over the folders of a board's runs.

The projector reads files that lie beside the event files and expects them below one log folder. Here each run has a
folder of its own, and nothing outside of it is opened, whatever a configuration or a link in it says.
"""

from __future__ import annotations

import functools
import gzip
import logging
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from aboard.board import assets
from aboard.board.tensorboard_parts import (
    ProjectorPlugin,
    http_util,
    projector_config_pb2,
    projector_plugin,
    text_format,
)
from aboard.model.uid import is_uid

_log = logging.getLogger(__name__)
_CONFIG = "projector_config.pbtxt"
_PLACES = (_CONFIG, f"plugins/org_tensorflow_tensorboard_projector/{_CONFIG}")
_STORED_EVENTS, _STORED_OTHERS = "tb", ("output", "tensorboard")  # below the folder of a run in a store
_LOOK_AGAIN_SECONDS = 5.0
_PART_OF_TIME = 50  # for one look, so many times as long without one
_LARGEST_CONFIG = 1 << 20

_Stamp = tuple[int, int]
_Shape = tuple[int, int]


class BoardProjectorPlugin(ProjectorPlugin):
    """The Projector dashboard."""

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        self.config_fpaths = {}
        self._folders = context.data_provider.run_folders
        self._updating = threading.Lock()
        self._look_again_at = float("-inf")
        self._names = frozenset[str]()
        self._stamps: dict[str, tuple[Path, _Stamp]] = {}

    def is_active(self) -> bool:
        """Whether any run has embeddings: known at the first question already."""
        self._update_configs()
        return bool(self._configs)

    def get_plugin_apps(self) -> dict[str, Any]:
        """The routes, with TensorBoard's files read once and its page free of addresses at the root of the host."""
        files = {f"/{name}": functools.partial(_serve_file, name) for name in _FILES}
        return {**super().get_plugin_apps(), **files}

    def _update_configs(self) -> None:
        """Read the configurations that are new or have changed; a damaged one hides its own run only."""
        with self._updating:
            folders = self._folders()
            started = time.monotonic()
            if started < self._look_again_at and folders.keys() == self._names:
                return
            stamps = _find_configs(folders)
            if stamps != self._stamps:
                configs: dict[str, Any] = {}
                for run, (path, stamp) in stamps.items():
                    if self._stamps.get(run) == (path, stamp) and run in self._configs:
                        configs[run] = self._configs[run]
                    elif config := _read_config(path):
                        configs[run] = config
                # Requests on other threads hold the old dictionaries; they are replaced, never changed.
                self.config_fpaths = {run: str(stamps[run][0]) for run in configs}
                self._configs = configs
                self.tensor_cache = projector_plugin.LRUCache(1)
                self._stamps = stamps
            self._names = frozenset(folders)
            # A look at tens of thousands of folders takes a good part of a second.
            pause = max(_LOOK_AGAIN_SECONDS, _PART_OF_TIME * (time.monotonic() - started))
            self._look_again_at = time.monotonic() + pause


def _find_configs(folders: dict[str, Path]) -> dict[str, tuple[Path, _Stamp]]:
    found: dict[str, tuple[Path, _Stamp]] = {}
    for run, folder in folders.items():
        for path in (home / place for home in _homes(folder) for place in _PLACES):
            try:
                status = path.stat()
            except OSError:
                continue
            found[run] = path, (status.st_mtime_ns, status.st_size)
    return found


def _homes(folder: Path) -> list[Path]:
    """Where the files beside a run's event files are: in the same folder, but in a store apart from them."""
    parts = folder.parts
    for place in range(len(parts) - 1, 0, -1):
        if parts[place] == _STORED_EVENTS and is_uid(parts[place - 1]):
            return [folder, Path(*parts[:place], *_STORED_OTHERS, *parts[place + 1 :])]
    return [folder]


def _read_config(path: Path) -> Any:
    """The configuration with the embeddings that can be shown; None when there are none."""
    try:
        folder = path.parent.resolve(strict=True)
        if path.resolve(strict=True).parent != folder or path.stat().st_size > _LARGEST_CONFIG:
            raise ValueError("it is a link to elsewhere, or far too large")
        config = text_format.Parse(path.read_text(encoding="utf-8"), projector_config_pb2.ProjectorConfig())
    except (OSError, ValueError, text_format.ParseError) as error:
        _log.warning("Left out %s: %s", path, error)
        return None
    config.ClearField("model_checkpoint_path")  # may lie anywhere, and only TensorFlow reads it
    shown: list[Any] = []
    for embedding in config.embeddings:
        for message, field in (
            (embedding, "metadata_path"),
            (embedding, "bookmarks_path"),
            (embedding.sprite, "image_path"),
        ):
            if getattr(message, field) and _inside(folder, getattr(message, field)) is None:
                _log.warning("Left out %s of %s: it leads out of %s", field, path, folder)
                message.ClearField(field)
        if shape := _shape_of(embedding, folder, path):
            embedding.tensor_name = (embedding.tensor_name or Path(embedding.tensor_path).name).removesuffix(":0")
            embedding.tensor_shape[:] = shape
            shown.append(embedding)
    kept = [projector_config_pb2.EmbeddingInfo.FromString(embedding.SerializeToString()) for embedding in shown]
    del config.embeddings[:]
    config.embeddings.extend(kept)
    return config if kept else None


def _shape_of(embedding: Any, folder: Path, config: Path) -> list[int] | None:
    tensors = _inside(folder, embedding.tensor_path) if embedding.tensor_path else None
    if tensors is None:
        _log.warning("Left out embedding %r of %s: no tensor file inside the run", embedding.tensor_name, config)
        return None
    try:
        return list(embedding.tensor_shape) or list(_shape_of_table(tensors))
    except OSError as error:
        _log.warning("Left out embedding %r of %s: %s", embedding.tensor_name, config, error)
        return None


def _shape_of_table(path: Path) -> _Shape:
    """Rows and columns of a file with tab-separated numbers, counted and not parsed."""
    rows = columns = 0
    with path.open("rb") as file:
        for line in file:
            if line.rstrip(b"\r\n"):
                columns = columns or line.count(b"\t") + 1
                rows += 1
    return rows, columns


def _inside(folder: Path, name: str) -> Path | None:
    try:
        path = (folder / name).resolve(strict=True)
    except (OSError, ValueError):
        return None
    return path if path.is_relative_to(folder) and path.is_file() else None


_FILES = {
    "index.js": "text/javascript",
    "projector_binary.html": "text/html",
    "projector_binary.js": "text/javascript",
}


@functools.cache
def _file(name: str) -> bytes:
    return (Path(projector_plugin.__file__).parent / "tf_projector_plugin" / name).read_bytes()


@functools.cache
def _compressed_file(name: str) -> bytes:
    return gzip.compress(_file(name), 6, mtime=0)


def _serve_file(name: str, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    from werkzeug.wrappers import Request

    request = Request(environ)
    if name.endswith(".html"):
        content = assets.at_root(_file(name), environ.get(assets.ROOT_KEY, "./"))
        return http_util.Respond(request, content, _FILES[name])(environ, start_response)
    answer = http_util.Respond(request, _compressed_file(name), _FILES[name], content_encoding="gzip")
    return answer(environ, start_response)
