# SPDX-License-Identifier: Apache-2.0
"""Which tags the runs of a board have, as the JSON that TensorBoard's pages ask for first."""

from __future__ import annotations

import functools
import json
from types import SimpleNamespace

from aboard._native import described_tags, display_names_json, names_json
from aboard.board.selected_tags import RunSource, indexed_runs, select_runs
from aboard.board.tensorboard_parts import metrics_plugin, plugin_util
from aboard.reader.run import DataClass, indexes_of


def display_names(source: RunSource, plugin: str, data_class: DataClass) -> bytes:
    """{"run": {"tag": {"displayName": …, "description": HTML}}}."""
    runs = indexed_runs(source)
    described = described_tags([index for _, index in runs], plugin, data_class)
    html = {description: _html_json(description) for _, _, description in described}
    return display_names_json(runs, plugin, data_class, html)


def names_and_descriptions(source: RunSource, plugin: str, data_class: DataClass) -> bytes:
    """{"runTagInfo": {"run": ["tag", …]}, "tagDescriptions": {"tag": HTML}}."""
    names = names_json(indexed_runs(source), plugin, data_class)
    return b'{"runTagInfo":' + names + b',"tagDescriptions":' + _descriptions(source, plugin, data_class) + b"}"


def _descriptions(source: RunSource, plugin: str, data_class: DataClass) -> bytes:
    runs = select_runs(source, None)
    described = described_tags(indexes_of(list(runs.values())), plugin, data_class)
    if not described:
        return b"{}"
    names = list(runs)
    by_run: dict[str, dict[str, SimpleNamespace]] = {}
    for number, tag, description in described:
        by_run.setdefault(names[number], {})[tag] = SimpleNamespace(description=description)
    return json.dumps(metrics_plugin._get_tag_to_description(by_run)).encode("ascii")  # noqa: SLF001


@functools.lru_cache(maxsize=4096)
def _html_json(description: str) -> bytes:
    return json.dumps(plugin_util.markdown_to_safe_html(description)).encode("ascii")
