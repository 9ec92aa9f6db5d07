# SPDX-License-Identifier: Apache-2.0
"""The TensorBoard plugins of a board: the bundled dashboards, the core plugin, and installed ones if allowed.

The core plugin serves the shared frontend files, redirects within the board, and reveals nothing about the host.
"""

from __future__ import annotations

import argparse
import functools
import logging
from collections.abc import Collection, Iterable
from importlib.metadata import entry_points
from typing import Any, Literal

from aboard.board import assets
from aboard.board.projector import BoardProjectorPlugin
from aboard.board.routes import BoardCustomScalarsPlugin, BoardHParamsPlugin, BoardMetricsPlugin, BoardScalarsPlugin
from aboard.board.tensorboard_api import TBLoader, application, core_plugin, default, http_util

_log = logging.getLogger(__name__)

AllowedPlugins = Literal["all", "none"] | Collection[str]
"""Installed plugins that a board loads: all, none, or these entry points. They are other people's code."""

_REPLACED = {
    "timeseries": BoardMetricsPlugin,
    "scalars": BoardScalarsPlugin,
    "custom_scalars": BoardCustomScalarsPlugin,
    "hparams": BoardHParamsPlugin,
}
# They read a log folder of their own (and need TensorFlow), or only advertise other packages.
_EXCLUDED = {"DebuggerV2Plugin", "ProfileRedirectPluginLoader", "WITRedirectPluginLoader"}


def plugins_for(allowed: AllowedPlugins, data_location: str) -> list[Any]:
    """The plugins of one board, in the order of TensorBoard's tabs."""
    return [CoreLoader(data_location), *_dashboards(), BoardProjectorPlugin, *_installed(_hashable(allowed))]


def flags_for(allowed: AllowedPlugins, **settings: Any) -> argparse.Namespace:
    """Every flag that TensorBoard and the plugins know, at its default, except `settings`."""
    return argparse.Namespace(**{**vars(_default_flags(_hashable(allowed))), **settings})


@functools.cache
def _dashboards() -> tuple[Any, ...]:
    plugins: list[Any] = []
    for plugin in default.get_static_plugins():
        if isinstance(plugin, core_plugin.CorePluginLoader) or getattr(plugin, "__name__", "") in _EXCLUDED:
            continue
        plugins.append(_REPLACED.get(getattr(plugin, "plugin_name", ""), plugin))
    return tuple(plugins)


@functools.cache
def _installed(allowed: str | frozenset[str]) -> tuple[Any, ...]:
    loaded: list[Any] = []
    for entry in entry_points(group="tensorboard_plugins"):
        if entry.name == "projector" or allowed == "none" or (allowed != "all" and entry.name not in allowed):
            continue
        try:
            loaded.append(entry.load())
        except Exception:
            _log.exception("The TensorBoard plugin %r cannot be loaded; boards go without it", entry.name)
    return tuple(loaded)


@functools.cache
def _default_flags(allowed: str | frozenset[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(add_help=False)
    for plugin in plugins_for(allowed, ""):
        try:
            application.make_plugin_loader(plugin).define_flags(parser)
        except Exception:
            _log.exception("The flags of the TensorBoard plugin %r are unusable", plugin)
    return parser.parse_args([])


def _hashable(allowed: AllowedPlugins) -> str | frozenset[str]:
    return allowed if isinstance(allowed, str) else frozenset(allowed)


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
