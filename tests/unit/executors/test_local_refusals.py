# SPDX-License-Identifier: Apache-2.0
"""Units that local processes cannot be are refused before anything starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from aboard.errors import InvalidValue, StorageUnavailable
from aboard.executors import Docker, Executor, Local, Ssh
from aboard.model.units import Mount, Port, Resources, UnitSpec
from support.privileges import folder_of_an_ordinary_user


def _spec(**parts: Any) -> UnitSpec:
    return UnitSpec(name="train", command=("true",), **parts)


@pytest.mark.parametrize(
    "parts",
    [
        {"image": "python:3"},
        {"mounts": (Mount(source="/a", target="/b"),)},
        {"service_account": "someone"},
    ],
)
def test_what_a_process_cannot_have_is_refused(tmp_path: Path, parts: dict[str, Any]) -> None:
    with pytest.raises(InvalidValue, match=f"value for '{next(iter(parts))}'") as refused:
        Local(folder=str(tmp_path)).submit(_spec(**parts))
    assert refused.value.hint


@pytest.mark.parametrize(
    "executor", [Local(), Ssh(host="absent.invalid"), Docker(address="unix:///absent")], ids=lambda one: one.name
)
def test_a_type_of_gpu_that_cannot_be_chosen_is_refused(executor: Executor) -> None:
    image = "python:3" if executor.takes_images else ""
    spec = _spec(image=image, resources=Resources(gpus=1, gpu_type="a100"))
    with pytest.raises(InvalidValue, match=f"type a100, and {executor.name} cannot") as refused:
        executor.submit(spec)
    assert "slurm" in refused.value.hint


def test_a_port_of_a_process_cannot_appear_elsewhere(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="cannot appear elsewhere"):
        Local(folder=str(tmp_path)).submit(_spec(ports=(Port(number=6006, host=8080),)))


def test_a_folder_that_cannot_be_written_is_an_error_that_names_it() -> None:
    with folder_of_an_ordinary_user() as folder:
        folder.chmod(0o500)
        place = folder / "units"
        with pytest.raises(StorageUnavailable, match=str(place)):
            Local(folder=str(place)).submit(_spec())
