# SPDX-License-Identifier: Apache-2.0
"""The parts of TensorBoard that boards are made of: the one door to a package without types.

For the type checker the base classes below declare what aboard relies on and nothing else; a new TensorBoard is
checked against this list.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any


def _module(name: str) -> Any:
    return importlib.import_module(name)


if TYPE_CHECKING:

    class DataProvider:
        """tensorboard.data.provider.DataProvider."""

    class MetricsPlugin:
        """The plugin behind the Time Series dashboard."""

        _data_provider: Any
        _plugin_downsampling: dict[str, int]
        _create_base_response: Any
        _get_invalid_request_error: Any
        _get_run_to_histogram_series: Any
        _get_run_to_image_series: Any
        _filter_by_version: Any
        _image_version_checker: Any

    class CustomScalarsPlugin:
        """The plugin behind the Custom Scalars dashboard."""

        _data_provider: Any
        _get_scalars_plugin: Any

    class HParamsPlugin:
        """The plugin behind the HParams dashboard."""

        _context: Any

        def get_plugin_apps(self) -> dict[str, Any]: ...

    class ScalarsPlugin:
        """The plugin behind the Scalars dashboard, whose values Custom Scalars takes."""

        _data_provider: Any
        _downsample_to: int
        scalars_impl: Any

    class ProjectorPlugin:
        """The plugin behind the Projector dashboard."""

        logdir: str
        data_provider: Any
        readers: dict[str, Any]
        tensor_cache: Any
        config_fpaths: dict[str, str]
        _configs: dict[str, Any]

        def __init__(self, context: Any) -> None: ...
        def get_plugin_apps(self) -> dict[str, Any]: ...

    class TBLoader:
        """tensorboard.plugins.base_plugin.TBLoader."""
else:
    from tensorboard.data.provider import DataProvider
    from tensorboard.plugins.base_plugin import TBLoader
    from tensorboard.plugins.custom_scalar.custom_scalars_plugin import CustomScalarsPlugin
    from tensorboard.plugins.hparams.hparams_plugin import HParamsPlugin
    from tensorboard.plugins.metrics.metrics_plugin import MetricsPlugin
    from tensorboard.plugins.projector.projector_plugin import ProjectorPlugin
    from tensorboard.plugins.scalar.scalars_plugin import ScalarsPlugin

VERSION: str = _module("tensorboard.version").VERSION
EXPERIMENT_ID_KEY: str = _module("tensorboard.backend.experiment_id").WSGI_ENVIRON_KEY

route: Any = _module("werkzeug.wrappers").Request.application  # its own type knows functions only, not methods

application = _module("tensorboard.backend.application")
assets = _module("tensorboard.assets")
core_plugin = _module("tensorboard.plugins.core.core_plugin")
default = _module("tensorboard.default")
errors = _module("tensorboard.errors")
hparams_api_pb2 = _module("tensorboard.plugins.hparams.api_pb2")
hparams_error = _module("tensorboard.plugins.hparams.error")
hparams_plugin = _module("tensorboard.plugins.hparams.hparams_plugin")
hparams_groups = _module("tensorboard.plugins.hparams.list_session_groups")
http_util = _module("tensorboard.backend.http_util")
image_metadata = _module("tensorboard.plugins.image.metadata")
json_util = _module("tensorboard.backend.json_util")
metrics_plugin = _module("tensorboard.plugins.metrics.metrics_plugin")
plugin_util = _module("tensorboard.plugin_util")
projector_config_pb2 = _module("tensorboard.plugins.projector.projector_config_pb2")
projector_plugin = _module("tensorboard.plugins.projector.projector_plugin")
provider = _module("tensorboard.data.provider")
text_format = _module("google.protobuf.text_format")

__all__ = [
    "EXPERIMENT_ID_KEY",
    "VERSION",
    "CustomScalarsPlugin",
    "DataProvider",
    "HParamsPlugin",
    "MetricsPlugin",
    "ProjectorPlugin",
    "ScalarsPlugin",
    "TBLoader",
    "application",
    "assets",
    "core_plugin",
    "default",
    "errors",
    "hparams_api_pb2",
    "hparams_error",
    "hparams_groups",
    "hparams_plugin",
    "http_util",
    "image_metadata",
    "json_util",
    "metrics_plugin",
    "plugin_util",
    "projector_config_pb2",
    "projector_plugin",
    "provider",
    "route",
    "text_format",
]
