# SPDX-License-Identifier: Apache-2.0
"""aboard's torch graph against the one that torch's own converter makes, node by node."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

with warnings.catch_warnings():
    # tensorboard's protobuf classes warn on import with some protobuf versions; that is not under test.
    warnings.simplefilter("ignore")
    from tensorboard.compat.proto.config_pb2 import RunMetadata
    from tensorboard.compat.proto.graph_pb2 import GraphDef
    from torch.utils.tensorboard._pytorch_graph import graph as reference_graph

from aboard.writer.torch_graph import torch_graph

# All are raised by torch about torch: the reference converter and these tests call what torch deprecates, and
# torch's own LSTM compares sizes in a way that its tracer points out.
pytestmark = [
    pytest.mark.filterwarnings("ignore:`torch.jit.(trace|script):DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The input to trace is already a ScriptModule:UserWarning"),
    pytest.mark.filterwarnings("ignore:Converting a tensor to a Python boolean:torch.jit.TracerWarning"),
]


class ConvNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.5)
        )
        self.classifier = nn.Linear(4 * 3 * 3, 2)

    def forward(self, images: Any) -> Any:
        return functional.log_softmax(self.classifier(torch.flatten(self.features(images), 1)), dim=1)


class Nested(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.outer = nn.Sequential(nn.Sequential(nn.Linear(3, 3), nn.Sequential(nn.Tanh())), nn.Linear(3, 1))
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, x: Any) -> Any:
        return self.outer(x) * self.scale


class Reused(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.same_layer = self.layer
        self.wrapped = nn.Sequential(self.layer, nn.ReLU())

    def forward(self, x: Any) -> Any:
        return self.wrapped(self.same_layer(self.layer(x)))


class TwoInputs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.mix = nn.Bilinear(3, 4, 2)

    def forward(self, left: Any, right: Any, unused: Any) -> Any:
        return self.mix(left, right)


class TupleOutput(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x: Any) -> Any:
        hidden = self.layer(x)
        return hidden, (hidden.sum(), x)


class Functional(nn.Module):
    def forward(self, x: Any) -> Any:
        mask = torch.ones(3, dtype=x.dtype)
        parts = (functional.pad(x * 2.5 + 1, (0, 1)) - 3).chunk(2, dim=1)
        return torch.cat([x * mask, *parts], dim=1).view(-1, x.shape[0])


class EmbeddingLSTM(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(10, 4)
        self.lstm = nn.LSTM(4, 5, num_layers=2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(10, 1)

    def forward(self, tokens: Any) -> Any:
        states, _ = self.lstm(self.embedding(tokens))
        return self.head(states[:, -1])


class DictOutput(nn.Module):
    def forward(self, x: Any) -> Any:
        return {"sum": x.sum(), "twice": x * 2}


class Branching(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.layer(x)
        if bool(x.sum() > 0):
            y = torch.sigmoid(y)
        for _ in range(x.shape[0]):
            y = torch.tanh(y) + x
        return y


def scripted_mlp() -> nn.Module:
    return torch.jit.script(mlp())


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2))


def transformer_layer() -> nn.Module:
    return nn.TransformerEncoderLayer(d_model=8, nhead=2, dim_feedforward=16, batch_first=True)


def model_holding_a_script_module() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 3), torch.jit.script(nn.Sequential(nn.Linear(3, 3), nn.ReLU())))


MODELS: dict[str, tuple[Callable[[], nn.Module], Any, dict[str, bool]]] = {
    "mlp": (mlp, torch.zeros(2, 3), {}),
    "convolution and batch norm": (ConvNet, torch.zeros(2, 3, 8, 8), {}),
    "nested sequential": (Nested, torch.zeros(2, 3), {}),
    "module reused": (Reused, torch.zeros(2, 3), {}),
    "several inputs": (TwoInputs, (torch.zeros(2, 3), torch.zeros(2, 4), torch.zeros(1)), {}),
    "input with gradient": (mlp, torch.zeros(2, 3, requires_grad=True), {}),
    "tuple output": (TupleOutput, torch.zeros(2, 3), {}),
    "functional with constants": (Functional, torch.zeros(2, 3), {}),
    "embedding and lstm": (EmbeddingLSTM, torch.zeros(2, 6, dtype=torch.long), {}),
    "transformer layer": (transformer_layer, torch.zeros(2, 5, 8), {}),
    "script module": (scripted_mlp, torch.zeros(2, 3), {}),
    "script module inside": (model_holding_a_script_module, torch.zeros(2, 3), {}),
    "dict output": (DictOutput, torch.zeros(2, 3), {"use_strict_trace": False}),
}


def nodes_of(graph: GraphDef) -> dict[str, Any]:
    nodes = {node.name: node for node in graph.node}
    assert len(nodes) == len(graph.node), "two nodes share a name"
    return nodes


def drawn(model: Any, inputs: Any, **options: bool) -> dict[str, Any]:
    return nodes_of(GraphDef.FromString(torch_graph(model, inputs, **options)[0]))


def shapes(node: Any) -> list[list[int]] | None:
    if "_output_shapes" not in node.attr:
        return None
    return [[dim.size for dim in shape.dim] for shape in node.attr["_output_shapes"].list.shape]


def feeds_no_tensor(node: Any, nodes: dict[str, Any]) -> bool:
    """Whether `node` is the sink of a tuple or dict, to which torch gives the made-up shape [1]."""
    return node.op == "IO Node" and any(nodes[name].op.endswith("Construct") for name in node.input)


@pytest.mark.parametrize("case", MODELS)
def test_same_nodes_as_torch(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # torch's converter refuses a transformer layer: the check of the trace runs without gradients, where that
    # layer takes another path. Without the check the reference can draw it.
    monkeypatch.setattr(torch.jit, "trace", functools.partial(torch.jit.trace, check_trace=False))
    make_model, inputs, options = MODELS[case]
    model = make_model()
    ours, run_metadata = torch_graph(model, inputs, **options)
    their_graph, their_metadata = reference_graph(model, inputs, **options)

    our_nodes, their_nodes = nodes_of(GraphDef.FromString(ours)), nodes_of(their_graph)
    assert list(our_nodes) == list(their_nodes)
    for name, theirs in their_nodes.items():
        node = our_nodes[name]
        assert node.op == theirs.op
        # torch also names modules as inputs, for which it makes no nodes.
        assert list(node.input) == [source for source in theirs.input if source in their_nodes]
        assert set(theirs.input) - set(node.input) == set() or theirs.op == "prim::GetAttr"
        assert node.attr["attr"] == theirs.attr["attr"]
        if feeds_no_tensor(theirs, their_nodes):
            assert (shapes(node), shapes(theirs)) == (None, [[1]])
        else:
            assert shapes(node) == shapes(theirs)
    assert GraphDef.FromString(ours).versions == their_graph.versions
    assert RunMetadata.FromString(run_metadata) == their_metadata


def without_numbers(nodes: dict[str, Any]) -> list[tuple[str, str, list[int]]]:
    """Scope, op and the positions of the inputs: all but the numbers that a copied graph gives anew."""
    position = {name: index for index, name in enumerate(nodes)}
    return [
        (node.name.rpartition("/")[0], node.op, [position[name] for name in node.input if name in position])
        for node in nodes.values()
    ]


def test_a_traced_module_has_the_same_nodes_up_to_numbering() -> None:
    model = torch.jit.trace(ConvNet().eval(), torch.zeros(2, 3, 8, 8))
    before, nodes = str(model.graph), drawn(model, None)
    assert str(model.graph) == before
    theirs = nodes_of(reference_graph(model, torch.zeros(2, 3, 8, 8))[0])
    assert without_numbers(nodes) == without_numbers(theirs)
    assert [shapes(node) for node in nodes.values()] == [shapes(node) for node in theirs.values()]


def test_every_input_of_every_node_exists() -> None:
    for make_model, inputs, options in MODELS.values():
        nodes = drawn(make_model(), inputs, **options)
        assert {source for node in nodes.values() for source in node.input} <= set(nodes)


def test_an_output_is_kept_when_a_variable_has_its_name() -> None:
    """torch loses the sink when forward() has a variable called `output`, for one value is `output.1`."""

    class Clash(nn.Module):
        def forward(self, x: Any) -> Any:
            output = x + 1
            output = output * 2
            return output * 3

    nodes = drawn(Clash(), torch.zeros(2))
    assert "Clash/output.1" in nodes
    assert nodes[nodes["output/output.1"].input[0]].op == "aten::mul"


def test_branches_and_loops_of_a_script_module_are_drawn() -> None:
    nodes = drawn(torch.jit.script(Branching()), torch.zeros(2, 3))
    ops = {node.op: node for node in nodes.values()}
    assert {"prim::If", "prim::Loop", "aten::sigmoid", "aten::tanh"} <= set(ops)
    assert ops["aten::sigmoid"].name in ops["prim::If"].input
    assert ops["prim::If"].name in ops["aten::tanh"].input
    assert {source for node in nodes.values() for source in node.input} <= set(nodes)


def test_a_script_module_keeps_its_graph() -> None:
    model = scripted_mlp()
    before = str(model.graph)
    torch_graph(model, torch.zeros(2, 3))
    assert str(model.graph) == before
