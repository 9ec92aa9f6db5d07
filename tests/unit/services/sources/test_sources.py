# SPDX-License-Identifier: Apache-2.0
"""What `serve.sources` may name: folders below a root, apart from stores and from each other."""

from __future__ import annotations

from pathlib import Path

import pytest

from aboard.errors import Forbidden, InvalidValue
from aboard.model.people import Access, Role
from aboard.services.boards.folders import OpenFolders
from aboard.services.read_only_source import Source, check_sources


@pytest.mark.parametrize("text", ["/data/logs", "vision=", "=/data/logs", "a b=/data/logs", "vision=s5://bucket/logs"])
def test_a_source_is_a_workspace_and_a_place(text: str):
    with pytest.raises(InvalidValue):
        Source.parse(text)


def test_a_source_is_known_by_its_uri():
    assert Source.parse("vision=/data//logs/").uri == "/data/logs"
    assert Source.parse("vision=file:///data/logs").uri == "/data/logs"
    assert Source.parse("vision=s3a://bucket/logs/") == Source("vision", "s3://bucket/logs")


def check(*sources: str, roots: list[str] | None = None, stores: tuple[str, ...] = ()) -> None:
    check_sources([Source.parse(one) for one in sources], roots, stores)


def test_sources_are_below_a_root():
    check("vision=/data/logs", "vision=s3://bucket/logs", roots=["/data", "s3://bucket"])
    check("vision=/anywhere")  # on the server of one person
    with pytest.raises(InvalidValue, match="names /database/logs, which is not below"):
        check("vision=/database/logs", roots=["/data"])
    with pytest.raises(InvalidValue, match="not below") as caught:
        check("vision=/data/logs", roots=[])
    assert "Name it, or a folder above it" in caught.value.hint


def test_a_link_does_not_lead_out_of_a_root(tmp_path: Path):
    (tmp_path / "root").mkdir()
    (tmp_path / "secret").mkdir()
    (tmp_path / "root" / "logs").symlink_to(tmp_path / "secret")
    with pytest.raises(InvalidValue, match="not below"):
        check(f"vision={tmp_path}/root/logs", roots=[f"{tmp_path}/root"])


@pytest.mark.parametrize("store", ["/data/logs", "/data", "/data/logs/store"])
def test_sources_are_apart_from_stores(store: str):
    with pytest.raises(InvalidValue, match=f"overlaps with the store {store}"):
        check("vision=/data/logs", stores=("/elsewhere", store))


def test_sources_are_apart_from_each_other():
    check("vision=/data/logs", "vision=/data/logs2")
    with pytest.raises(InvalidValue, match="which overlap"):
        check("vision=/data/logs", "audio=/data/logs/audio")


def person(workspace: str) -> Access:
    return Access(name="ann", roles={workspace: Role.VIEWER})


@pytest.mark.parametrize("uri", ["/data/logs", "/data/logs/a", "/data"])
def test_roles_hold_for_folders_with_a_source(uri: str):
    folders = OpenFolders(["/data"], [Source.parse("Vision=/data/logs")])
    folders.check_seen(uri, person("vision"))
    with pytest.raises(Forbidden, match=f"does not show {uri}"):
        folders.check_seen(uri, person("audio"))
    folders.check_seen("/data/other", person("audio"))
