# SPDX-License-Identifier: Apache-2.0
"""HTML in the names of runs and tags, in titles, texts and values is shown as text on every dashboard, never run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.plugins.custom_scalar.layout_pb2 import Layout
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

from aboard import SummaryWriter
from aboard._native import frame_record
from support.dashboards import ELEMENTS, MILLISECONDS, wait_until_drawn
from support.sample_logs import write_every_kind
from support.viewing import viewing

ATTACK = "\"'><img src=x onerror=window.pwned=1><svg onload=window.pwned=1>"
SHOWN_AS_TEXT = {"timeseries", "scalars", "images", "audio", "histograms", "distributions", "text", "mesh", "hparams"}
# Requests are answered in turn: when this one has failed, so have those of names that became pictures before.
PICTURE_FAILS = """() => new Promise((done) => {
    const picture = new Image();
    picture.onerror = () => done(null);
    picture.src = "missing";
})"""
KEPT_TAGS = ("_hparams_/", "custom_scalars__config__", "__run_graph__")


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    write_every_kind(SummaryWriter, folder)
    for path in [path for path in folder.rglob("*tfevents*") if path.is_file()]:
        events = [Event.FromString(record) for record in RawEventFileLoader(str(path)).Load()]
        path.write_bytes(b"".join(frame_record(_hostile(event).SerializeToString()) for event in events))
    for config in folder.rglob("projector_config.pbtxt"):
        config.write_text(
            config.read_text().replace('tensor_name: "', 'tensor_name: "<img src=x onerror=window.pwned=1>')
        )
    for run in sorted((path for path in folder.rglob("*") if path.is_dir()), key=lambda path: -len(path.parts)):
        if any("tfevents" in file.name for file in run.iterdir()):
            run.rename(run.with_name(f"{ATTACK} {run.name}"))
    return folder


def _hostile(event: Event) -> Event:
    if event.WhichOneof("what") == "graph_def":
        graph = GraphDef.FromString(event.graph_def)
        for node in graph.node:
            node.name = ATTACK + node.name
            node.op = ATTACK
            node.input[:] = [ATTACK + name for name in node.input]
        event.graph_def = graph.SerializeToString()
    for value in event.summary.value:
        plugin = value.metadata.plugin_data.plugin_name
        if not value.tag.startswith(KEPT_TAGS):
            value.tag = ATTACK + value.tag
            value.metadata.display_name = ATTACK + value.tag
        value.metadata.summary_description = f"described {ATTACK} <script>window.pwned = 1</script>"
        if plugin == "hparams":
            value.metadata.plugin_data.content = _hostile_hparams(value.metadata.plugin_data.content)
        elif plugin == "custom_scalars":
            value.tensor.string_val[0] = _hostile_layout(value.tensor.string_val[0])
        elif plugin == "text":
            value.tensor.string_val[:] = [f"{ATTACK}<script>window.pwned = 1</script>".encode()] * len(
                value.tensor.string_val
            )
    return event


def _hostile_hparams(content: bytes) -> bytes:
    data = HParamsPluginData.FromString(content)
    for info in data.experiment.hparam_infos:
        info.name = info.display_name = ATTACK + info.name
        info.description = ATTACK
    for metric in data.experiment.metric_infos:
        metric.name.tag = ATTACK + metric.name.tag
        metric.display_name = metric.description = ATTACK
    for name in list(data.session_start_info.hparams):
        value = data.session_start_info.hparams[name]
        data.session_start_info.hparams[ATTACK + name].string_value = ATTACK + str(value)
        del data.session_start_info.hparams[name]
    return data.SerializeToString()


def _hostile_layout(content: bytes) -> bytes:
    layout = Layout.FromString(content)
    for category in layout.category:
        category.title = ATTACK + category.title
        for chart in category.chart:
            chart.title = ATTACK + chart.title
            if chart.multiline.tag:
                chart.multiline.tag[:] = [".*"]
    return layout.SerializeToString()


def assert_harmless(page: Any, place: str) -> None:
    page.evaluate(PICTURE_FAILS)
    for frame in page.frames:
        assert frame.evaluate("window.pwned") is None, f"{place}: a script ran"
        injected = frame.locator("[onerror], [onload]").count()
        assert injected == 0, f"{place}: {injected} elements were made of a name"


@pytest.mark.timeout(240)
def test_nothing_of_it_becomes_an_element(browser: Any, logs: Path):
    with viewing(logs, "--window_title", ATTACK, "--template", f"{{run}} {ATTACK} {{hparams.lr}}") as board:
        board.wait_until_read()
        assert ATTACK in board.json("data/runs")[0]
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        dialogs: list[str] = []
        page.on("dialog", lambda dialog: dialogs.append(dialog.message) or dialog.dismiss())
        page.goto(f"{board.url}?forceSVG=true#timeseries")
        for dashboard in ELEMENTS:
            page.evaluate("name => { location.hash = name }", dashboard)
            wait_until_drawn(page, dashboard)
            # Where names are drawn into pictures or hidden behind menus, there is no text to be found.
            if dashboard in SHOWN_AS_TEXT:
                page.get_by_text("onerror=window.pwned").first.wait_for(state="attached", timeout=MILLISECONDS)
            assert_harmless(page, dashboard)
        page.evaluate("document.body.insertAdjacentHTML('beforeend', '<b onload=1></b>')")
        assert page.locator("[onerror], [onload]").count() == 1, "this test could not have seen an element"
        page.close()
    assert not dialogs
