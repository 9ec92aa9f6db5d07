# SPDX-License-Identifier: Apache-2.0
"""Draws a torch model: traces it once without leaving a mark on it, and converts the trace to a GraphDef."""

from __future__ import annotations

import importlib
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from aboard.errors import InvalidType, InvalidValue, MissingPackage
from aboard.events.graph import graph_def, run_metadata
from aboard.writer.torch_trace import trace_nodes

if TYPE_CHECKING:
    from collections.abc import Generator

# torch is optional and absent where types are checked.
Torch = Any
Module = Any
ScriptModule = Any
JitGraph = Any


class UntraceableModel(InvalidValue, RuntimeError):
    """The model cannot be traced. Both peers raise RuntimeError, which existing scripts catch around `add_graph`."""


def torch_graph(
    model: object, input_to_model: object, *, verbose: bool = False, use_strict_trace: bool = True
) -> tuple[bytes, bytes]:
    """The serialized GraphDef and RunMetadata of `model` when it is called with `input_to_model`.

    The model is called once, in eval mode; its modes, buffers and the random state are put back afterwards.
    A ScriptModule has its graph already and is not called.
    """
    torch = _import_torch()
    module = _checked_module(torch, model)
    try:
        script_module, graph = _scripted(torch, module, input_to_model, use_strict_trace)
        torch._C._jit_pass_inline(graph)  # noqa: SLF001 - there is no public way
    except Exception as error:  # whatever the model's own code raises
        raise UntraceableModel(
            f"{type(module).__name__} cannot be traced with this input: {error}",
            hint="check that input_to_model is what forward() takes (a tuple for several arguments); "
            "pass use_strict_trace=False if forward() returns a dict or a list",
        ) from error
    if verbose:
        print(graph)  # noqa: T201 - it is what was asked for
    return graph_def(trace_nodes(graph, script_module)), run_metadata()


def _import_torch() -> Torch:
    try:
        return importlib.import_module("torch")
    except ImportError as error:
        raise MissingPackage("add_graph needs torch, which cannot be imported", hint="pip install torch") from error


def _checked_module(torch: Torch, model: object) -> Module:
    if not isinstance(model, torch.nn.Module):  # a ScriptModule is one too
        raise InvalidType(f"add_graph takes a torch.nn.Module or a torch.jit.ScriptModule, not {type(model).__name__}")
    # A model that torch.compile has wrapped cannot be traced, but the model inside can.
    return getattr(model, "_orig_mod", model)


def _scripted(torch: Torch, module: Module, input_to_model: object, strict: bool) -> tuple[ScriptModule, JitGraph]:
    """`module` as a ScriptModule, and a graph of it that may be changed."""
    if isinstance(module, torch.jit.ScriptModule):
        return module, module.graph.copy()
    with _restored_afterwards(torch, module), warnings.catch_warnings():
        # The user did not choose torch.jit.trace, and no replacement records module scopes as it does.
        warnings.filterwarnings("ignore", message=r"`torch\.jit\.trace", category=DeprecationWarning)
        # The check calls the model twice more and refuses one that draws random numbers or takes a faster
        # path without gradients, as a transformer layer does: a picture needs none of that.
        traced = torch.jit.trace(module, input_to_model, strict=strict, check_trace=False)
    # Nobody else has this one, so it needs no copy, which would number the values anew.
    return traced, traced.graph


@contextmanager
def _restored_afterwards(torch: Torch, model: Module) -> Generator[None]:
    """Eval mode inside; afterwards each module's own mode, the buffers and the random state as before."""
    with _eval_mode(model), _buffers_kept(torch, model), _random_state_kept(torch, model):
        yield


@contextmanager
def _eval_mode(model: Module) -> Generator[None]:
    # The flags and not train(): a model may have frozen parts in eval mode, and an overridden train() may do
    # more than set a flag (merge adapter weights, for one).
    modes = [(module, module.training) for module in model.modules() if hasattr(module, "training")]
    try:
        for module, _ in modes:
            module.training = False
        yield
    finally:
        for module, training in modes:
            module.training = training


@contextmanager
def _buffers_kept(torch: Torch, model: Module) -> Generator[None]:
    # Parameters are not copied: forward() does not write them, and there may be no room for a second set.
    saved = [
        (module._buffers, name, buffer, buffer.detach().clone(), buffer._version)  # noqa: SLF001
        for module in model.modules()
        for name, buffer in module._buffers.items()  # noqa: SLF001 - buffers() says not where they belong
        if buffer is not None and not torch.nn.parameter.is_lazy(buffer) and not buffer.is_inference()
    ]
    try:
        yield
    finally:
        for buffers, name, buffer, content, version in saved:
            if buffers[name] is not buffer:
                buffers[name] = buffer
            # Writing an unchanged buffer would still invalidate a backward pass that is under way.
            if buffer._version != version:  # noqa: SLF001
                with torch.no_grad():
                    buffer.copy_(content)


def _random_state_kept(torch: Torch, model: Module) -> Any:
    gpus = {parameter.device.index for parameter in model.parameters() if parameter.device.type == "cuda"}
    return torch.random.fork_rng(devices=sorted(gpus))
