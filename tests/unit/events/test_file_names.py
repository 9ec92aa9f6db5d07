# SPDX-License-Identifier: Apache-2.0
"""The same files are event files as for TensorBoard."""

import pytest
from tensorboard.backend.event_processing import io_wrapper

from aboard.events.event import is_event_file, is_profile


@pytest.mark.parametrize(
    "name",
    [
        "events.out.tfevents.1700000000.host",
        "events.out.tfevents.1700000000.host.1.2.v2",
        "x.tfevents",
        "tfevents",
        "my.TFEVENTS.1",
        "events.out",
        "runs.tfevents/notes.txt",
        "runs/events.out.tfevents.1.h",
    ],
)
def test_agrees_with_tensorboard(name):
    assert is_event_file(name) == io_wrapper.IsTensorFlowEventsFile(name)


def test_empty_name_is_none():
    assert not is_event_file("")


def test_files_of_profilers_are_told_by_their_place():
    assert is_profile("train/plugins/profile/2026_11_16/host.xplane.pb")
    assert is_profile("host.trace.json.gz")
    assert not is_profile("train/tensors.tsv")


@pytest.mark.parametrize("name", ["projector_config.pbtxt", "checkpoint"])
def test_what_leads_tensorboard_to_other_files_is_no_profile(name: str):
    assert not is_profile(f"plugins/profile/x/{name}")
    assert not is_profile(f"plugins/profile/plugins/org_tensorflow_tensorboard_projector/{name}")
