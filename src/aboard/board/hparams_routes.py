# SPDX-License-Identifier: Apache-2.0
"""TensorBoard's HParams dashboard, which every page asks, also those of boards without any hyperparameter.

TensorBoard would then look at the last point of every curve of every run, and throw all of it away.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from werkzeug import exceptions
from werkzeug.wrappers import Request

from aboard.board.tag_pattern import TagPattern
from aboard.board.tensorboard_parts import (
    HParamsPlugin,
    hparams_api_pb2,
    hparams_error,
    hparams_groups,
    hparams_plugin,
    http_util,
    plugin_util,
    route,
)
from aboard.errors import InvalidValue


class BoardHParamsPlugin(HParamsPlugin):
    """The HParams dashboard."""

    def get_plugin_apps(self) -> dict[str, Any]:
        """The routes; the one for the table is answered here when there is no row for it."""
        routes = super().get_plugin_apps()
        self._list_groups = routes["/session_groups"]
        return {**routes, "/session_groups": self._serve_groups}

    def _serve_groups(self, environ: dict[str, Any], start_response: Any) -> Any:
        provider = self._context.tb_context.data_provider
        listing = provider.list_plugins(None, experiment_id="")
        return (self._list_groups if "hparams" in listing else _no_groups)(environ, start_response)


@route
def _no_groups(request: Request) -> Any:
    try:
        hparams_plugin._parse_request_argument(request, hparams_api_pb2.ListSessionGroupsRequest)  # noqa: SLF001
    except hparams_error.HParamsError as error:
        raise exceptions.BadRequest(description=str(error)) from None
    empty = hparams_api_pb2.ListSessionGroupsResponse(session_groups=[], total_size=0)
    return http_util.Respond(request, plugin_util.proto_to_json(empty), "application/json")


def _regexp_filter(text: str) -> Callable[[Any], bool]:
    """A filter of a column by a regular expression of a request, matched by RE2."""
    try:
        pattern = TagPattern(text)
    except InvalidValue as error:
        raise hparams_error.HParamsError(str(error)) from None

    def passes(value: Any) -> bool:
        if not isinstance(value, str):
            raise hparams_error.HParamsError(f"Cannot use a regexp filter for a value of type {type(value)}: {value}")
        return pattern.is_in(value)

    return passes


# The routes of the table and of downloads make their filters by this function; TensorBoard's own uses `re`.
hparams_groups._create_regexp_filter = _regexp_filter  # noqa: SLF001
