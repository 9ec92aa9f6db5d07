# SPDX-License-Identifier: Apache-2.0
"""No regular expression of a request runs in Python's `re`, which holds the GIL for as long as it searches.

One walk sends a pattern through every parameter of every route of every hosted plugin. The other reads the plugins'
source for patterns that are not constants.
"""

from __future__ import annotations

import ast
import importlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

import pytest
from werkzeug.datastructures import ImmutableMultiDict
from werkzeug.wrappers import Request

import aboard
from aboard.board.hosting import BoardApp
from aboard.board.tensorboard_api import hparams_api_pb2
from support.board_client import FORM, SESSION_GROUPS, Asked, BoardClient, board_over, every_request, plugin
from support.sample_logs import write_every_kind

SENTINEL = "^zq7(a|b)*sentinel"
EVIL = r"^(\w|[a-z_/]|.|\S)*!$"
SEARCHING = {"compile", "match", "search", "fullmatch", "sub", "subn", "split", "findall", "finditer"}
# TensorBoard's own places that compile what a request says. Boards replace both.
REPLACED = {
    ("tensorboard.plugins.custom_scalar.custom_scalars_plugin", "scalars_impl"),
    ("tensorboard.plugins.hparams.list_session_groups", "_create_regexp_filter"),
}
HPARAMS_REQUESTS = {
    "session_groups": hparams_api_pb2.ListSessionGroupsRequest,
    "experiment": hparams_api_pb2.GetExperimentRequest,
    "metric_evals": hparams_api_pb2.ListMetricEvalsRequest,
    "download_data": hparams_api_pb2.ListSessionGroupsRequest,
}


@pytest.fixture(scope="module")
def board(tmp_path_factory) -> BoardApp:
    folder = tmp_path_factory.mktemp("logs") / "logs"
    folder.mkdir()
    write_every_kind(aboard.SummaryWriter, folder)
    with aboard.SummaryWriter(folder / "exp_system") as writer:
        writer.add_scalar("machine/memory_used_mb", 1.0, 0)
    return board_over(folder)


@pytest.fixture
def compiled(monkeypatch) -> list[str]:
    """Every pattern with the sentinel that reached `re`, by whichever of its functions."""
    found: list[str] = []
    before = re._compile  # type: ignore[attr-defined]

    def recorded(pattern: Any, flags: Any) -> Any:
        text = getattr(pattern, "pattern", pattern)
        if "zq7" in (text.decode("latin-1") if isinstance(text, bytes) else str(text)):
            found.append(str(text))
        return before(pattern, flags)

    monkeypatch.setattr(re, "_compile", recorded)
    return found


@pytest.fixture
def parameters(monkeypatch) -> set[str]:
    """Names of the parameters that handlers look for, whether or not a request has them."""
    names: set[str] = set()

    class Recording(ImmutableMultiDict[str, str]):
        def get(self, key: Any, *arguments: Any, **named: Any) -> Any:
            names.add(key)
            return super().get(key, *arguments, **named)

        def getlist(self, key: Any, *arguments: Any, **named: Any) -> Any:
            names.add(key)
            return super().getlist(key, *arguments, **named)

        def __getitem__(self, key: Any) -> Any:
            names.add(key)
            return super().__getitem__(key)

    monkeypatch.setattr(Request, "parameter_storage_class", Recording)
    return names


def routes_of(board: BoardApp) -> set[str]:
    app = board._app
    return {*app.exact_routes, *(prefix + "x" for prefix in app.prefix_routes)}


def with_sentinels(document: Any) -> Iterator[Any]:
    """Copies of a JSON document in each of which one string is the sentinel."""
    match document:
        case str():
            yield SENTINEL
        case list():
            for at, value in enumerate(document):
                yield from ([*document[:at], one, *document[at + 1 :]] for one in with_sentinels(value))
        case dict():
            for name, value in document.items():
                yield from ({**document, name: one} for one in with_sentinels(value))


def sentinel_messages(descriptor: Any, depth: int = 4) -> Iterator[dict[str, Any]]:
    """Documents of a protobuf message in each of which one string field, however deep, is the sentinel."""
    for field in descriptor.fields:
        found: list[Any] = []
        if field.message_type is not None:
            found = [{}, *sentinel_messages(field.message_type, depth - 1)] if depth else []
            if field.message_type.full_name == "google.protobuf.ListValue":
                found = [[SENTINEL]]
        elif field.type == field.TYPE_STRING:
            found = [SENTINEL]
        for value in found:
            yield {field.json_name: [value] if field.is_repeated else value}


def mutated(asked: Asked, names: set[str]) -> Iterator[Asked]:
    """The request with the sentinel in one place after the other."""
    path, _, query = asked.path.partition("?")
    body = (asked.body or b"").decode()
    fields = parse_qsl(body if asked.kind == FORM else query)
    for name in {name for name, _ in fields} | names:
        given = dict(fields).get(name, "")
        values = [SENTINEL]
        if given.startswith(("[", "{")):
            values += map(json.dumps, with_sentinels(json.loads(given)))
        for value in values:
            encoded = urlencode([*((one, text) for one, text in fields if one != name), (name, value)])
            yield Asked(f"{path}?{encoded}")
            yield Asked(path, encoded.encode(), FORM)
    if asked.kind != FORM and body:
        yield from (Asked(asked.path, json.dumps(one).encode()) for one in with_sentinels(json.loads(body)))


def hparams_requests() -> Iterator[Asked]:
    # Filters see the values of a column, so a request names one that runs have.
    base = {**SESSION_GROUPS, "colParams": [{"hparam": "optimizer", "includeInResult": True}]}
    for route, message in HPARAMS_REQUESTS.items():
        for document in sentinel_messages(message.DESCRIPTOR):
            whole = {**base, **document} if message is hparams_api_pb2.ListSessionGroupsRequest else document
            for column in whole.get("colParams", ()):
                if "metric" not in column:
                    column.setdefault("hparam", "optimizer")
            encoded = json.dumps(whole)
            yield Asked(f"/data/plugin/hparams/{route}", encoded.encode())
            query = {"request": encoded, "format": "json", "columnsVisibility": "[]"}
            yield plugin("hparams", route, **query)


def test_no_pattern_of_a_request_reaches_re(board, compiled, parameters):
    client = BoardClient(board)
    known = list(every_request(lambda one: client.fetch(*one).json))
    covered = {one.path.partition("?")[0] for one in known}
    known += [Asked(route) for route in sorted(routes_of(board) - covered)]
    sent: set[Asked] = set()
    for asked in known:
        parameters.clear()
        client.fetch(*asked)
        looked_for: set[str] = set()
        while parameters - looked_for:  # a parameter may be looked for only once another one is there
            looked_for = set(parameters)
            for one in mutated(asked, looked_for):
                if one not in sent:
                    sent.add(one)
                    client.fetch(*one)
    for asked in hparams_requests():
        sent.add(asked)
        client.fetch(*asked)
    assert {one.path.partition("?")[0] for one in sent} >= {
        route for route in routes_of(board) if route.startswith("/data/plugin/custom_scalars/scalars")
    } | {f"/data/plugin/hparams/{route}" for route in HPARAMS_REQUESTS}
    assert len(sent) > 400
    re.compile(SENTINEL)
    assert compiled == [SENTINEL], "only the control, so the recorder works"


def test_the_source_of_hosted_plugins_has_no_other_pattern_that_is_not_a_constant(board):
    modules = {
        base.__module__.rpartition(".")[0]
        for one in board._app._plugins
        for base in type(one).__mro__
        if base.__module__.startswith("tensorboard.plugins.")
    } - {"tensorboard.plugins"}
    assert len(modules) >= 12
    found = set[tuple[str, str]]()
    for name in sorted(modules):
        package = importlib.import_module(name)
        for path in sorted(Path(str(package.__file__)).parent.glob("*.py")):
            if not path.stem.endswith("_test"):
                found |= {(f"{name}.{path.stem}", place) for place in variable_patterns(path)}
    assert found == REPLACED


def variable_patterns(path: Path) -> Iterator[str]:
    """Functions and methods in which `re` or `fnmatch` gets a pattern that is not a constant."""
    tree = ast.parse(path.read_text())
    outermost = [part for top in tree.body for part in (top.body if isinstance(top, ast.ClassDef) else [top])]
    for part in outermost:
        for node in ast.walk(part):
            if isinstance(node, ast.ImportFrom) and node.module in ("re", "fnmatch"):
                yield f"from {node.module} import"
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            owner, name = node.func.value, node.func.attr
            is_search = isinstance(owner, ast.Name) and (
                (owner.id == "re" and name in SEARCHING) or owner.id == "fnmatch"
            )
            if is_search and not isinstance(node.args[0], ast.Constant):
                yield getattr(part, "name", "")


def test_the_two_places_are_replaced(board):
    from tensorboard.plugins.hparams import list_session_groups

    assert list_session_groups._create_regexp_filter.__module__.startswith("aboard.")
    [custom_scalars] = [one for one in board._app._plugins if one.plugin_name == "custom_scalars"]
    assert type(custom_scalars).scalars_impl.__module__.startswith("aboard.")


def groups(client: BoardClient, pattern: str) -> Any:
    body = {**SESSION_GROUPS, "colParams": [{"hparam": "optimizer", "filterRegexp": pattern}]}
    return client.fetch("/data/plugin/hparams/session_groups", json.dumps(body).encode())


def test_patterns_that_take_re_for_ever_are_answered(board):
    client = BoardClient(board)
    answer = client.fetch(*plugin("custom_scalars", "scalars", run="exp_system", tag=EVIL))
    assert answer.json == {"regex_valid": True, "tag_to_events": {}}
    assert groups(client, EVIL).json["sessionGroups"] == []


def test_patterns_mean_what_they_do_in_tensorboard(board):
    client = BoardClient(board)

    def tags(pattern: str) -> list[str]:
        return list(client.fetch(*plugin("custom_scalars", "scalars", run="exp", tag=pattern)).json["tag_to_events"])

    assert tags("loss/.*") == ["loss/train"]
    assert tags("train") == []  # it matches from the beginning of a tag
    assert tags("l|o") == ["loss/train", "odd/values"]
    for pattern in ("(", "(?=loss)"):
        answer = client.fetch(*plugin("custom_scalars", "scalars", run="exp", tag=pattern))
        assert answer.json == {"regex_valid": False, "tag_to_events": {}}
    assert len(groups(client, "gd$").json["sessionGroups"]) == 1  # it may match anywhere
    assert groups(client, "adam").json["sessionGroups"] == []


def test_long_and_wrong_patterns_are_refused_with_the_reason(board):
    client = BoardClient(board)
    answer = client.fetch(*plugin("custom_scalars", "scalars", run="exp", tag="a" * 501))
    assert answer.status == 400
    assert b"501 characters" in answer.body
    assert b"500" in answer.body
    assert groups(client, "a" * 500).status == 200
    for pattern, reason in (("a" * 501, b"501 characters"), ("(", b"regular expression"), ("(?=a)", b"regular")):
        answer = groups(client, pattern)
        assert answer.status == 400
        assert reason in answer.body
