# SPDX-License-Identifier: Apache-2.0
"""Graphs of torch models: traces a model once without side effects, and converts the trace to a GraphDef.

Nodes have the names that torch's own converter gives them.
"""

from __future__ import annotations

import importlib
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aboard.errors import InvalidType, InvalidValue, MissingPackage
from aboard.events.graph import GraphNode, Shape, graph_def, run_metadata

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable


# torch has no public types for what a TorchScript graph is made of.
JitGraph = Any
JitNode = Any
JitValue = Any
ScriptModule = Any

_ROOT_PATH = "__module"
_ATTRIBUTE_READ = "prim::GetAttr"
_LOOP = "prim::Loop"


def trace_nodes(graph: JitGraph, script_module: ScriptModule) -> list[GraphNode]:
    """The inputs, outputs and operations of `graph`, whose calls must be inlined, as nodes to draw."""
    reader = _TraceReader(script_module.original_name, _module_labels(script_module))
    return reader.read(graph)


def _module_labels(script_module: ScriptModule) -> dict[str, str]:
    """What to show for each dotted module path, such as `Linear[fc]` for `__module.fc`."""
    return {
        path: f"{module.original_name}[{path.rpartition('.')[2]}]"
        for path, module in script_module.named_modules(prefix=_ROOT_PATH)
    }


@dataclass
class _TraceReader:
    root_label: str
    module_labels: dict[str, str]
    nodes: list[GraphNode] = field(default_factory=list[GraphNode])
    # Both by the name that the value has inside the graph, which is unique there.
    node_of_value: dict[str, str] = field(default_factory=dict[str, str])
    scope_of_attribute: dict[str, str] = field(default_factory=dict[str, str])

    def read(self, graph: JitGraph) -> list[GraphNode]:
        inputs = [self._input(value) for value in graph.inputs() if value.uses() and not _is_module(value)]
        self._operations(graph.nodes())
        outputs = [self._output(number, value) for number, value in enumerate(graph.outputs(), start=1)]
        return [*inputs, *outputs, *self.nodes]

    def _input(self, value: JitValue) -> GraphNode:
        name = f"input/{value.debugName()}"
        self.node_of_value[value.debugName()] = name
        return GraphNode(name=name, op="IO Node", output_shapes=_shapes(value), attributes="")

    def _output(self, number: int, value: JitValue) -> GraphNode:
        return GraphNode(
            name=f"output/output.{number}",
            op="IO Node",
            inputs=self._drawn([value]),
            output_shapes=_shapes(value),
            attributes="",
        )

    def _operations(self, nodes: Iterable[JitNode]) -> None:
        for node in nodes:
            scope = self._attribute_scope(node) if node.kind() == _ATTRIBUTE_READ else node.scopeName()
            sources = [*node.inputs(), *self._block_results(node)]
            for value in node.outputs():
                # Reading a submodule is no operation: the scope of the submodule's nodes already tells it.
                if not _is_module(value):
                    self._operation(node, value, scope, sources)

    def _operation(self, node: JitNode, value: JitValue, scope: str, sources: list[JitValue]) -> None:
        name = f"{self._shown_scope(scope)}/{value.debugName()}"
        self.node_of_value[value.debugName()] = name
        self.nodes.append(
            GraphNode(
                name=name,
                op=node.kind(),
                inputs=self._drawn(sources),
                output_shapes=_complete_shapes(value),
                attributes=_attribute_text(node),
            )
        )

    def _block_results(self, node: JitNode) -> list[JitValue]:
        """Read the branches of an `if` or the body of a loop, and give the values they hand to `node`."""
        results: list[JitValue] = []
        for block in node.blocks():
            if node.kind() == _LOOP:
                self._name_carried_values(node, block)
            self._operations(block.nodes())
            results += block.outputs()
        return results

    def _name_carried_values(self, loop: JitNode, body: Any) -> None:
        # A loop takes (limit, condition, carried...) and gives its body (counter, carried...). In the body a
        # carried value is drawn as what it is at the start: an edge from the loop itself would be a cycle.
        for outside, inside in zip(list(loop.inputs())[2:], list(body.inputs())[1:], strict=True):
            if (name := self.node_of_value.get(outside.debugName())) is not None:
                self.node_of_value[inside.debugName()] = name

    def _attribute_scope(self, node: JitNode) -> str:
        """The modules on the way to an attribute, written as a node's scope: `__module.a/__module.a.b`."""
        owner_scope = self.scope_of_attribute.get(node.input().debugName(), "")
        owner_path = owner_scope.rpartition("/")[2] or _ROOT_PATH
        path = f"{owner_path}.{node.s('name')}"
        scope = f"{owner_scope}/{path}" if owner_scope else path
        self.scope_of_attribute[node.output().debugName()] = scope
        return scope

    def _shown_scope(self, scope: str) -> str:
        if not scope:
            return self.root_label
        labels = (self.module_labels.get(path, path.rpartition(".")[2]) for path in scope.split("/"))
        return "/".join([self.root_label, *labels])

    def _drawn(self, values: Iterable[JitValue]) -> tuple[str, ...]:
        # A value without a node (a module, a loop counter) would be an edge from nowhere.
        names = (self.node_of_value.get(value.debugName()) for value in values)
        return tuple(name for name in names if name is not None)


def _is_module(value: JitValue) -> bool:
    return value.type().kind() == "ClassType"


def _shapes(value: JitValue) -> tuple[Shape] | None:
    if value.type().kind() != "TensorType":
        return None
    sizes = value.type().sizes()
    return None if sizes is None else (tuple(sizes),)


def _complete_shapes(value: JitValue) -> tuple[Shape] | None:
    return _shapes(value) if value.isCompleteTensor() else None


def _attribute_text(node: JitNode) -> str:
    # Each kind of attribute has a getter of its own, and the kind is that getter's name. Quotes become blanks
    # because TensorBoard shows the text as a quoted string.
    values = {name: getattr(node, node.kindOf(name))(name) for name in node.attributeNames()}
    return str(values).replace("'", " ")


# torch is optional and absent where types are checked.
Torch = Any
Module = Any


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
