# SPDX-License-Identifier: Apache-2.0
"""TensorBoard's projector over the folders of a board's runs.

The projector reads files that lie beside the event files and expects them below one log folder. Here each run has a
folder of its own, and nothing outside of it is opened, whatever a configuration or a link in it says. TensorBoard
checks paths and opens them later, when a folder may have become a link. Here a request opens its file step by step.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import gzip
import io
import itertools
import logging
import os
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from aboard.board import assets
from aboard.board.tensorboard_api import (
    ProjectorPlugin,
    http_util,
    projector_config_pb2,
    projector_plugin,
    route,
    text_format,
)
from aboard.foundation.files import opened_file
from aboard.model.names import is_uid

_log = logging.getLogger(__name__)
_CONFIG = "projector_config.pbtxt"
_CONFIG_PATHS = (_CONFIG, f"plugins/org_tensorflow_tensorboard_projector/{_CONFIG}")
_STORED_EVENTS, _STORED_OTHERS = "tb", ("output", "tensorboard")  # below the folder of a run in a store
_LOOK_AGAIN_SECONDS = 5.0
_PART_OF_TIME = 50  # for one look, so many times as long without one
_LARGEST_CONFIG = 1 << 20

_Stamp = tuple[int, int]


class _ConfigFolder(NamedTuple):
    """The folder of a configuration: `root` is trusted, and no link on the way from there is followed."""

    root: Path
    way: str

    @contextlib.contextmanager
    def opened(self, name: str) -> Generator[BinaryIO]:
        """A file in the folder or below it; OSError for what is not a plain file there."""
        folder = self.root / self.way
        for spelling in (str(folder), os.path.realpath(folder)):  # some writers name files by their whole paths
            name = name.removeprefix(f"{spelling}/")
        key = os.path.normpath(name)
        if key.startswith("/"):
            raise OSError(errno.EXDEV, "it is outside of the run's folder")
        with (
            opened_file(self.root, f"{self.way}/{key}") as (descriptor, _),
            open(descriptor, "rb", closefd=False) as file,
        ):
            yield file


class _Asset(NamedTuple):
    """A file that an embedding names, and how many rows of it are wanted: None for all."""

    place: _ConfigFolder
    embedding: Any
    rows: int | None


class _BadRequest(Exception):
    """A request that gets a 400 with this text."""


class BoardProjectorPlugin(ProjectorPlugin):
    """The Projector dashboard."""

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        self.config_fpaths = {}
        self._folders = context.data_provider.run_folders
        self._updating = threading.Lock()
        self._look_again_at = float("-inf")
        self._names = frozenset[str]()
        self._stamps: dict[str, tuple[_ConfigFolder, str, _Stamp]] = {}
        self._places: dict[str, _ConfigFolder] = {}

    def is_active(self) -> bool:
        """Whether any run has embeddings: known at the first question already."""
        self._update_configs()
        return bool(self._configs)

    def get_plugin_apps(self) -> dict[str, Any]:
        """The routes, with TensorBoard's files read once and its page free of addresses at the root of the host."""
        files = {f"/{name}": functools.partial(_serve_file, name) for name in _FILES}
        assets = {
            projector_plugin.METADATA_ROUTE: _serve_asset(self._asset, _metadata),
            projector_plugin.TENSOR_ROUTE: _serve_asset(self._asset, self._tensor),
            projector_plugin.BOOKMARKS_ROUTE: _serve_asset(self._asset, _bookmarks),
            projector_plugin.SPRITE_IMAGE_ROUTE: _serve_asset(self._asset, _sprite),
        }
        return {**super().get_plugin_apps(), **files, **assets}

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
                for run, (place, name, stamp) in stamps.items():
                    if self._stamps.get(run) == (place, name, stamp) and run in self._configs:
                        configs[run] = self._configs[run]
                    elif config := _read_config(place, name):
                        configs[run] = config
                # Requests on other threads hold the old dictionaries; they are replaced, never changed.
                self._places = {run: stamps[run][0] for run in configs}
                self._configs = configs
                self.tensor_cache = projector_plugin.LRUCache(1)
                self._stamps = stamps
            self._names = frozenset(folders)
            # A look at tens of thousands of folders takes a good part of a second.
            pause = max(_LOOK_AGAIN_SECONDS, _PART_OF_TIME * (time.monotonic() - started))
            self._look_again_at = time.monotonic() + pause

    def _asset(self, arguments: Mapping[str, str]) -> _Asset:
        """What a request is about."""
        for wanted in ("run", "name"):
            if not arguments.get(wanted):
                raise _BadRequest(f'query parameter "{wanted}" is required')
        run, name, rows = arguments["run"], arguments["name"], arguments.get("num_rows")
        if rows and not (rows.isdecimal() and int(rows) > 0):
            raise _BadRequest("query parameter num_rows must be integer > 0")
        self._update_configs()
        config, place = self._configs.get(run), self._places.get(run)
        if config is None or place is None:
            raise _BadRequest(f'Unknown run: "{run}"')
        embedding = next((one for one in config.embeddings if one.tensor_name == name.removesuffix(":0")), None)
        if embedding is None:
            raise _BadRequest(f'Run "{run}" has no tensor "{name}"')
        return _Asset(place, embedding, int(rows) if rows else None)

    def _tensor(self, asset: _Asset) -> tuple[bytes, str]:
        cache, key = self.tensor_cache, (asset.place, asset.embedding.tensor_name)
        tensor = cache.get(key)
        if tensor is None:
            tensor = _read_tensor(asset)
            cache.set(key, tensor)
        return tensor[: asset.rows].tobytes(), "application/octet-stream"


_AssetReader = Callable[[_Asset], tuple[bytes, str]]


def _serve_asset(asset_of: Callable[[Mapping[str, str]], _Asset], answer: _AssetReader) -> Any:
    @route
    def serve(request: Any) -> Any:
        try:
            content, content_type = answer(asset_of(request.args))
        except _BadRequest as error:
            return http_util.Respond(request, str(error), "text/plain", 400)
        except (OSError, ValueError) as error:
            # Without the path: it would tell where the folders of the server are.
            why = (error.strerror if isinstance(error, OSError) else None) or "it cannot be read"
            return http_util.Respond(request, f"The file is not shown: {why}.", "text/plain", 400)
        return http_util.Respond(request, content, content_type)

    return serve


def _metadata(asset: _Asset) -> tuple[bytes, str]:
    with asset.place.opened(_named(asset, "metadata", asset.embedding.metadata_path)) as file:
        first = file.readline()
        header = 1 if b"\t" in first else 0
        more = None if asset.rows is None else asset.rows + header - 1
        return first + b"".join(itertools.islice(file, more)), "text/plain"


def _bookmarks(asset: _Asset) -> tuple[bytes, str]:
    with asset.place.opened(_named(asset, "bookmarks", asset.embedding.bookmarks_path)) as file:
        return file.read(), "application/json"


def _sprite(asset: _Asset) -> tuple[bytes, str]:
    with asset.place.opened(_named(asset, "sprite image", asset.embedding.sprite.image_path)) as file:
        image = file.read()
    return image, projector_plugin.img_mime_type_detector.from_bytes(image)


def _named(asset: _Asset, what: str, path: str) -> str:
    if not path:
        raise _BadRequest(f'No {what} file found for tensor "{asset.embedding.tensor_name}"')
    return path


def _read_tensor(asset: _Asset) -> Any:
    """Rows of numbers between tabs, or else the bytes of 32-bit floats."""
    import numpy as np

    with asset.place.opened(asset.embedding.tensor_path) as file:
        try:
            lines = (line.rstrip("\r\n") for line in io.TextIOWrapper(file, encoding="utf-8"))
            rows = [[float(number) for number in line.split("\t")] for line in lines if line]
            return np.array(rows, dtype=np.float32)
        except UnicodeDecodeError:
            pass
    with asset.place.opened(asset.embedding.tensor_path) as file:
        return np.frombuffer(file.read(), dtype=np.float32).reshape(list(asset.embedding.tensor_shape))


def _find_configs(folders: Mapping[str, tuple[Path, Path | None]]) -> dict[str, tuple[_ConfigFolder, str, _Stamp]]:
    """The newest configuration of each run. What is seen here only says what is to be read, so it may follow links."""
    found: dict[str, tuple[_ConfigFolder, str, _Stamp]] = {}
    for run, (folder, within) in folders.items():
        for path in (home / place for home in _file_folders(folder) for place in _CONFIG_PATHS):
            try:
                status = path.stat()
            except OSError:
                continue
            root = within or path.parent
            if path.is_relative_to(root):
                way = path.parent.relative_to(root).as_posix()
                found[run] = _ConfigFolder(root, way), path.name, (status.st_mtime_ns, status.st_size)
    return found


def _file_folders(folder: Path) -> list[Path]:
    """Where the files beside a run's event files are: in the same folder, but in a store apart from them."""
    parts = folder.parts
    for place in range(len(parts) - 1, 0, -1):
        if parts[place] == _STORED_EVENTS and is_uid(parts[place - 1]):
            return [folder, Path(*parts[:place], *_STORED_OTHERS, *parts[place + 1 :])]
    return [folder]


def _read_config(place: _ConfigFolder, name: str) -> Any:
    """The configuration with the embeddings that can be shown; None when there are none."""
    where = place.root / place.way / name
    try:
        with place.opened(name) as file:
            text = file.read(_LARGEST_CONFIG + 1)
        if len(text) > _LARGEST_CONFIG:
            raise ValueError("it is far too large")
        config = text_format.Parse(text.decode(), projector_config_pb2.ProjectorConfig())
    except (OSError, ValueError, text_format.ParseError) as error:
        _log.warning("Left out %s: %s", where, error)
        return None
    config.ClearField("model_checkpoint_path")  # may lie anywhere, and only TensorFlow reads it
    shown: list[Any] = []
    for embedding in config.embeddings:
        for message, field in (
            (embedding, "metadata_path"),
            (embedding, "bookmarks_path"),
            (embedding.sprite, "image_path"),
        ):
            if getattr(message, field) and not _can_be_opened(place, getattr(message, field)):
                _log.warning("Left out %s of %s: it is no file inside the run's folder", field, where)
                message.ClearField(field)
        if shape := _shape_of(embedding, place, where):
            embedding.tensor_name = (embedding.tensor_name or Path(embedding.tensor_path).name).removesuffix(":0")
            embedding.tensor_shape[:] = shape
            shown.append(embedding)
    kept = [projector_config_pb2.EmbeddingInfo.FromString(embedding.SerializeToString()) for embedding in shown]
    del config.embeddings[:]
    config.embeddings.extend(kept)
    return config if kept else None


def _can_be_opened(place: _ConfigFolder, name: str) -> bool:
    try:
        with place.opened(name):
            return True
    except (OSError, ValueError):
        return False


def _shape_of(embedding: Any, place: _ConfigFolder, config: Path) -> list[int] | None:
    """Rows and columns, counted and not parsed where the configuration does not name them."""
    try:
        if not embedding.tensor_path:
            raise ValueError("it names no tensor file")
        with place.opened(embedding.tensor_path) as file:
            return list(embedding.tensor_shape) or _shape_of_table(file)
    except (OSError, ValueError) as error:
        _log.warning("Left out embedding %r of %s: %s", embedding.tensor_name, config, error)
        return None


def _shape_of_table(file: BinaryIO) -> list[int]:
    rows = columns = 0
    for line in file:
        if line.rstrip(b"\r\n"):
            columns = columns or line.count(b"\t") + 1
            rows += 1
    return [rows, columns]


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
