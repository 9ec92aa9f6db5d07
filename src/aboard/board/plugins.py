# SPDX-License-Identifier: Apache-2.0
"""Which of TensorBoard's plugins a board has: its own dashboards, and installed ones as far as they are allowed."""

from __future__ import annotations

import argparse
import functools
import logging
from collections.abc import Collection
from importlib.metadata import entry_points
from typing import Any, Literal

from aboard.board.core_loader import CoreLoader
from aboard.board.hot_routes import BoardCustomScalarsPlugin, BoardMetricsPlugin, BoardScalarsPlugin
from aboard.board.hparams_routes import BoardHParamsPlugin
from aboard.board.projector import BoardProjectorPlugin
from aboard.board.tensorboard_parts import application, core_plugin, default

_log = logging.getLogger(__name__)

Allowed = Literal["all", "none"] | Collection[str]
"""Installed plugins that a board loads: all, none, or these entry points. They are other people's code."""

_REPLACED = {
    "timeseries": BoardMetricsPlugin,
    "scalars": BoardScalarsPlugin,
    "custom_scalars": BoardCustomScalarsPlugin,
    "hparams": BoardHParamsPlugin,
}
# They read a log folder of their own (and need TensorFlow), or only advertise other packages.
_LEFT_OUT = {"DebuggerV2Plugin", "ProfileRedirectPluginLoader", "WITRedirectPluginLoader"}


def plugins_for(allowed: Allowed, data_location: str) -> list[Any]:
    """The plugins of one board, in the order of TensorBoard's tabs."""
    return [CoreLoader(data_location), *_dashboards(), BoardProjectorPlugin, *_installed(_hashable(allowed))]


def flags_for(allowed: Allowed, **settings: Any) -> argparse.Namespace:
    """Every flag that TensorBoard and the plugins know, at its default, except `settings`."""
    return argparse.Namespace(**{**vars(_default_flags(_hashable(allowed))), **settings})


@functools.cache
def _dashboards() -> tuple[Any, ...]:
    plugins: list[Any] = []
    for plugin in default.get_static_plugins():
        if isinstance(plugin, core_plugin.CorePluginLoader) or getattr(plugin, "__name__", "") in _LEFT_OUT:
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


def _hashable(allowed: Allowed) -> str | frozenset[str]:
    return allowed if isinstance(allowed, str) else frozenset(allowed)
