# SPDX-License-Identifier: Apache-2.0
"""TensorBoard's core plugin for a board: shared files, redirects that stay inside, nothing told about the host."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from aboard.board import assets
from aboard.board.tensorboard_parts import TBLoader, core_plugin, http_util

_OLD_PAGES = ("/audio", "/events", "/graphs", "/histograms", "/images")


class CoreLoader(TBLoader):
    """Loads the core plugin itself, because TensorBoard asks for its exact class, with its routes replaced."""

    def __init__(self, data_location: str) -> None:
        self._data_location = data_location

    def define_flags(self, parser: Any) -> None:
        """Add TensorBoard's own flags, which other plugins may look at."""
        core_plugin.CorePluginLoader().define_flags(parser)

    def load(self, context: Any) -> Any:
        """Make the plugin of one board."""
        core = core_plugin.CorePlugin(context, include_debug_info=False)
        core._logdir = self._data_location  # noqa: SLF001  what /data/logdir tells
        own_routes = core.get_plugin_apps

        def routes() -> dict[str, Any]:
            return {**own_routes(), **dict.fromkeys(_OLD_PAGES, _redirect_to_page)}

        core.get_resource_apps = _resources
        core.get_plugin_apps = routes
        return core


def _resources() -> dict[str, Any]:
    files = dict.fromkeys((f"/{path}" for path in assets.frontend() if "/" not in path), _serve_file)
    return {**files, "/": _serve_page, "/index.html": _serve_page, "/font-roboto/*": _serve_file}


def _serve_page(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    from werkzeug.wrappers import Request

    # The frontend finds its data relative to the page, wherever that is mounted.
    head = b'<!doctype html><meta name="tb-relative-root" content="./">'
    content = head + assets.page(environ.get(assets.ROOT_KEY, "./"))
    return http_util.Respond(Request(environ), content, "text/html")(environ, start_response)


def _serve_file(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    fingerprinted = "_file_hash=" in environ.get("QUERY_STRING", "")
    cache = "private, max-age=86400" if fingerprinted else "no-cache, must-revalidate"
    return assets.serve(environ["PATH_INFO"].strip("/"), environ, start_response, cache)


def _redirect_to_page(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    # Relative, so that it stays inside the board whatever prefix a proxy puts before it.
    location = "../" if environ["PATH_INFO"].endswith("/") else "./"
    headers = [("Location", location), ("Content-Type", "text/plain"), ("X-Content-Type-Options", "nosniff")]
    start_response("302 Found", headers)
    return [b""]
