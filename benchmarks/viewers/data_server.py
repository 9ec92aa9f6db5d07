# SPDX-License-Identifier: Apache-2.0
"""TensorBoard's Rust data server alone: what `tensorboard --load_fast=true` starts, without the Python around it."""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory

from viewers.children import Child
from viewers.worksets import ScalarSet

FINISHED = r"Finished load cycle \(([\d.]+)(ns|µs|ms|s)\)"
# Its log tells when a load cycle ends; asked for by environment, so that nothing else logs more than usual.
LOGGING = {"RUST_LOG": "rustboard_core=info"}
_SECONDS = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}


def seconds_of(match: re.Match[str]) -> float:
    """The length of a load cycle as the server measured it."""
    return float(match[1]) * _SECONDS[match[2]]


def load(work: ScalarSet, folder: Path, *, as_aboard: bool = False) -> dict[str, float]:
    """One load cycle in a fresh process; `as_aboard` verifies all checksums and keeps all points."""
    import tensorboard_data_server

    with TemporaryDirectory(prefix="bench-data-server-") as name:
        port_file = Path(name, "port")
        options = ["--checksum", "--samples-per-plugin=scalars=all"] if as_aboard else ["--samples-per-plugin="]
        command = [
            tensorboard_data_server.server_binary(),
            f"--logdir={folder}",
            "--reload=once",
            "--port=0",
            f"--port-file={port_file}",
            *options,
        ]
        with Child(command, LOGGING) as child:
            match, when = child.wait_for(FINISHED, timeout=600)
            cpu = child.cpu_seconds()
            memory = child.memory()
            _verify(work, int(port_file.read_text(encoding="ascii")), whole=as_aboard)
    return {
        "load_s": seconds_of(match),
        "whole_s": when - child.started,
        "cpu_s": cpu,
        "rss_mib": memory.rss,
    }


def _verify(work: ScalarSet, port: int, *, whole: bool) -> None:
    """That every series came to its last point, with as many points as it keeps of each."""
    from tensorboard.data import grpc_provider, provider
    from tensorboard.util import grpc_util

    credentials, options = grpc_util.ChannelCredsType.LOCAL.channel_config()
    import grpc

    options = [*options, ("grpc.max_receive_message_length", 1 << 30)]
    with grpc.secure_channel(f"localhost:{port}", credentials, options=options) as channel:
        data = grpc_provider.GrpcDataProvider("", grpc_provider.make_stub(channel))
        listed = data.list_scalars(None, experiment_id="", plugin_name="scalars")
        series = {(run, tag): found.max_step for run, tags in listed.items() for tag, found in tags.items()}
        expected = {(run, tag): work.points - 1 for run in work.run_names for tag in work.tag_names}
        if series != expected:
            raise SystemExit(f"the data server holds {len(series)} series of {work}, or not their last points")
        wanted = provider.RunTagFilter(runs=[work.run_names[-1]], tags=[work.tag_names[-1]])
        read = data.read_scalars(
            None, experiment_id="", plugin_name="scalars", downsample=work.points, run_tag_filter=wanted
        )
        points = len(read[work.run_names[-1]][work.tag_names[-1]])
        kept = work.points if whole else min(work.points, 1000)
        if points != kept:
            raise SystemExit(f"the data server keeps {points} points of a series of {work}, not {kept}")
