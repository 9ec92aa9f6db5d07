# SPDX-License-Identifier: Apache-2.0
"""What drawing a torch model leaves behind, prints and refuses."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from typing import Any

import pytest
import torch
from torch import nn

with warnings.catch_warnings():
    # tensorboard's protobuf classes warn on import with some protobuf versions; that is not under test.
    warnings.simplefilter("ignore")
    from torch.utils.tensorboard._pytorch_graph import graph as reference_graph

from aboard.errors import InvalidType, InvalidValue, MissingPackage
from aboard.writer.torch_graph import torch_graph


class NormNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5))

    def forward(self, x: Any) -> Any:
        return self.body(x)


class DictOutput(nn.Module):
    def forward(self, x: Any) -> Any:
        return {"sum": x.sum(), "twice": x * 2}


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2))


def test_a_compiled_model_is_drawn_as_the_model_inside() -> None:
    model = mlp()
    compiled = torch.compile(model, backend="eager")
    assert torch_graph(compiled, torch.zeros(2, 3)) == torch_graph(model, torch.zeros(2, 3))


def test_each_module_keeps_its_own_mode() -> None:
    model = NormNet().train()
    model.body[1].eval()  # a frozen batch norm
    modes = [module.training for module in model.modules()]
    torch_graph(model, torch.zeros(2, 3))
    assert [module.training for module in model.modules()] == modes


def test_modes_come_back_when_the_trace_fails() -> None:
    model = mlp().train()
    with pytest.raises(InvalidValue):
        torch_graph(model, torch.zeros(2, 7))
    assert all(module.training for module in model.modules())


class Remembering(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(3)
        self.calls: torch.Tensor
        self.total: torch.Tensor
        self.register_buffer("calls", torch.zeros(1))
        self.register_buffer("total", torch.zeros(1))
        self.register_buffer("absent", None)

    def forward(self, x: Any) -> Any:
        self.calls.add_(1)
        self.total = self.total + x.sum()
        return self.norm(x) + torch.rand(3)


def test_parameters_buffers_and_random_state_are_untouched() -> None:
    model = Remembering().train()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    buffers, random_state = list(model.buffers()), torch.get_rng_state()
    torch_graph(model, torch.ones(2, 3))
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(now is then for now, then in zip(model.buffers(), buffers, strict=True))
    assert torch.equal(torch.get_rng_state(), random_state)
    assert all(parameter.grad is None for parameter in model.parameters())


def test_a_backward_pass_under_way_survives() -> None:
    model = NormNet().train()
    loss = model(torch.randn(2, 3)).sum()
    torch_graph(model, torch.zeros(2, 3))
    loss.backward()


# The reference lets torch's warning about its tracer through; aboard does not, as the other tests show.
@pytest.mark.filterwarnings("ignore:`torch.jit.trace:DeprecationWarning")
def test_verbose_prints_the_graph_as_torch_does(capsys: pytest.CaptureFixture[str]) -> None:
    model = mlp()
    reference_graph(model, torch.zeros(2, 3), verbose=True)
    theirs = capsys.readouterr().out
    torch_graph(model, torch.zeros(2, 3), verbose=True)
    ours = capsys.readouterr().out
    # Each trace in a process gets type names of its own.
    assert re.sub(r"mangle_\d+", "", ours) == re.sub(r"mangle_\d+", "", theirs)
    torch_graph(model, torch.zeros(2, 3))
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("model", [None, "model", lambda x: x, nn.Linear, torch.zeros(2)])
def test_not_a_module(model: object) -> None:
    with pytest.raises(InvalidType, match=r"torch\.nn\.Module or a torch\.jit\.ScriptModule"):
        torch_graph(model, torch.zeros(2, 3))


@pytest.mark.parametrize("inputs", [torch.zeros(2, 7), None, "text", (torch.zeros(2, 3),) * 2])
def test_inputs_that_do_not_fit(inputs: object) -> None:
    with pytest.raises(InvalidValue, match="Sequential cannot be traced") as caught:
        torch_graph(mlp(), inputs)
    assert caught.value.__cause__ is not None
    assert isinstance(caught.value, RuntimeError)  # what both peers raise and scripts catch
    assert "input_to_model" in caught.value.hint


def test_a_dict_output_needs_the_loose_trace() -> None:
    with pytest.raises(InvalidValue, match="use_strict_trace=False"):
        torch_graph(DictOutput(), torch.zeros(2, 3))


def test_missing_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingPackage, match="pip install torch"):
        torch_graph(object(), None)


def test_neither_tensorboard_nor_protobuf_is_imported() -> None:
    program = """
import sys, torch
from aboard.writer.torch_graph import torch_graph
before = set(sys.modules)
torch_graph(torch.nn.Linear(2, 2), torch.zeros(1, 2))
unwanted = ("tensorboard", "google.protobuf", "torch.utils.tensorboard", "tensorflow")
print([name for name in set(sys.modules) - before if name.startswith(unwanted)])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "[]\n", done.stderr
