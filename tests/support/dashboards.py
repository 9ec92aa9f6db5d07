# SPDX-License-Identifier: Apache-2.0
"""TensorBoard's thirteen dashboards in a browser, and how data show that they were drawn."""

from __future__ import annotations

from typing import Any

MILLISECONDS = 60_000
ELEMENTS = {
    "timeseries": "line-chart path[d^='M']",
    "scalars": "vz-line-chart2 svg text",
    "custom_scalars": "tf-custom-scalar-multi-line-chart-card svg text",
    "images": "tf-image-loader img",
    "audio": "tf-audio-loader audio[src]",
    "graphs": "tf-graph-scene g.node",
    "distributions": "vz-distribution-chart path",
    "histograms": "vz-histogram-timeseries path",
    "text": "tf-text-loader",
    "pr_curves": "tf-pr-curve-card vz-line-chart2 svg text",
    "hparams": "tf-hparams-main vaadin-grid",
    "mesh": "tf-mesh-loader canvas",
    "projector": "iframe",
}
"""By the name of a dashboard, what is in the document when it has drawn data."""


def wait_until_drawn(page: Any, dashboard: str) -> None:
    if dashboard == "projector":
        inside_projector(page).locator("canvas").first.wait_for(state="attached", timeout=MILLISECONDS)
    else:
        page.wait_for_selector(ELEMENTS[dashboard], state="attached", timeout=MILLISECONDS)


def inside_projector(page: Any) -> Any:
    """The projector is in a frame of a frame."""
    return page.frame_locator("iframe").frame_locator("iframe")
