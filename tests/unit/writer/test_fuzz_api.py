# SPDX-License-Identifier: Apache-2.0
"""Hostile arguments in random sequences: a call succeeds or says which argument is wrong, and files stay sound."""

from __future__ import annotations

import inspect
import shutil
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from aboard import FileWriter, SummaryWriter
from aboard.errors import InvalidType, InvalidValue, StorageUnavailable, WriteWarning
from support import processes
from support.hypothesis_profiles import examples


class Hostile:
    """An object whose every conversion fails."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("no array")

    def __float__(self) -> float:
        raise RuntimeError("no float")

    def __int__(self) -> int:
        raise RuntimeError("no int")

    def __repr__(self) -> str:
        return "Hostile()"


texts = st.text(st.characters(), max_size=12) | st.sampled_from(
    ["a", "loss/train", "", "/", "..", "../up", "a\0b", "\ud800", "\udfff/x", "ä/ß", "a" * 3000, "\u202e", "🙂"]
)
integers = st.integers() | st.sampled_from([2**63, -(2**63), 2**63 - 1, 2**64, 10**400, -1])
floats = st.floats() | st.floats(width=32)
KINDS = "? i1 u1 i2 u2 i4 u4 i8 u8 >i4 f2 f4 f8 >f8 g c8 c16 U3 S3 M8[s] m8[s] O V4"
dtypes = st.sampled_from([np.dtype(kind) for kind in KINDS.split()])
shapes = st.lists(st.sampled_from([0, 1, 2, 3, 4, 5]), max_size=5).map(tuple)


@st.composite
def any_arrays(draw: st.DrawFn) -> Any:
    dtype, shape = draw(dtypes), draw(shapes)
    size = int(np.prod(shape))
    array = np.frombuffer(draw(st.binary(min_size=1, max_size=64)) * (1 + size * max(dtype.itemsize, 1)), "u1")
    if dtype.kind == "O":
        return np.full(shape, draw(st.sampled_from([None, "x", 1, b"y"])), dtype=object)
    if dtype.kind == "U":
        return np.full(shape, "xy")
    array = array[: size * dtype.itemsize].view(dtype).reshape(shape)
    return draw(st.sampled_from([array, array.T, array[::-1] if shape else array]))


plain = st.none() | st.booleans() | integers | floats | texts | st.binary(max_size=8) | st.builds(Hostile)
values: st.SearchStrategy[Any] = (
    any_arrays()
    | arrays.arrays(st.sampled_from([np.dtype("f4"), np.dtype("f8")]), arrays.array_shapes(max_dims=4, max_side=5))
    | plain
    | st.complex_numbers()
    | st.recursive(
        plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=6
    )
    | st.tuples(plain, plain)
)
# Of these depends how much memory a call takes: only what is too small, or no number at all.
small = st.integers(-1000, 1000) | st.floats(-1000, 1000) | texts | st.none() | st.lists(floats, min_size=2, max_size=4)
layouts = st.sampled_from(["CHW", "HWC", "HW", "NCHW", "NHWC", "NTCHW", "CHWX", "", "chw", "CC"]) | texts | plain

# By the name of the parameter, where something more pointed than anything at all is likely to get further.
BY_NAME: dict[str, st.SearchStrategy[Any]] = {
    "tag": texts | plain,
    "main_tag": texts | plain,
    "global_step": integers | values,
    "step": integers | values,
    "walltime": floats | values,
    "dataformats": layouts,
    "tag_scalar_dict": st.dictionaries(texts, floats | values, max_size=3) | values,
    "hparam_dict": st.dictionaries(texts, values, max_size=3) | values,
    "metric_dict": st.dictionaries(texts, floats | values, max_size=3) | values,
    "run_name": st.sampled_from(["run", "a/b", "", "a\0b", "\ud800", None]) | integers,
    "name": st.sampled_from(["run", None]) | plain,
    "runs": st.sampled_from(["nested", "flat", "none", "other"]),
    "bins": st.sampled_from(["tensorflow", "sturges", 5, 0, -1]) | small,
    "max_bins": st.sampled_from([None, 1, 2, 5]) | small,
    "num_thresholds": st.sampled_from([2, 127]) | small,
    "sample_rate": st.sampled_from([44100, 1]) | small,
    "fps": st.sampled_from([4, 0.5]) | small,
    "rescale": st.sampled_from([1, 2, 0.5]) | small,
    "layout": st.dictionaries(texts, values, max_size=2) | values,
    "tags": st.lists(texts, max_size=4) | values,
    "category": texts | plain,
    "title": texts | plain,
    "text_string": texts | values,
    "new_style": st.booleans() | texts,
    "double_precision": st.booleans() | texts,
    "display_name": texts,
    "summary_description": texts,
    "in_place": st.booleans(),
}
# Arguments with which each call succeeds; each example replaces a few of them.
pixels = np.linspace(0, 1, 48).reshape(3, 4, 4)
curve = {name: np.ones(3) for name in ("true_positive_counts", "false_positive_counts", "precision", "recall")}
SOUND: dict[str, dict[str, Any]] = {
    "add_scalar": {"tag": "a", "scalar_value": 1.0, "global_step": 1, "walltime": 1.0},
    "add_scalars": {"main_tag": "a", "tag_scalar_dict": {"b": 1}, "global_step": 1, "runs": "nested"},
    "add_hparams": {"hparam_dict": {"lr": 0.1, "kind": "x"}, "metric_dict": {"loss": 1}, "run_name": "r"},
    "add_histogram": {"tag": "a", "values": np.arange(5.0), "global_step": 1, "bins": "tensorflow"},
    "add_histogram_raw": {
        "tag": "a",
        **dict.fromkeys(("min", "max", "num", "sum", "sum_squares"), 1.0),
        "bucket_limits": [1.0, 2.0],
        "bucket_counts": [1, 2],
    },
    "add_image": {"tag": "a", "img_tensor": pixels, "global_step": 1, "dataformats": "CHW"},
    "add_images": {"tag": "a", "img_tensor": pixels[None], "global_step": 1, "dataformats": "NCHW"},
    "add_image_with_boxes": {"tag": "a", "img_tensor": pixels, "box_tensor": [[0, 0, 2, 2]], "labels": ["x"]},
    "add_video": {"tag": "a", "vid_tensor": pixels[None, None], "fps": 4, "dataformats": "NTCHW"},
    "add_audio": {"tag": "a", "snd_tensor": np.linspace(-1, 1, 50), "sample_rate": 44100},
    "add_text": {"tag": "a", "text_string": "b", "global_step": 1},
    "add_pr_curve": {"tag": "a", "labels": [0, 1, 1], "predictions": [0.1, 0.7, 0.9], "num_thresholds": 5},
    "add_pr_curve_raw": {
        "tag": "a",
        **curve,
        "true_negative_counts": np.ones(3),
        "false_negative_counts": np.ones(3),
        "num_thresholds": 3,
    },
    "add_mesh": {"tag": "a", "vertices": np.ones((1, 4, 3)), "colors": None, "faces": None},
    "add_tensor": {"tag": "a", "tensor": np.ones(3), "global_step": 1},
    "add_embedding": {"mat": np.ones((3, 2)), "metadata": ["a", "b", "c"], "tag": "e"},
    "add_custom_scalars": {"layout": {"category": {"chart": ["Multiline", ["a"]]}}},
    "add_custom_scalars_multilinechart": {"tags": ["a", "b"], "category": "c", "title": "t"},
    "add_custom_scalars_marginchart": {"tags": ["a", "b", "c"]},
}
# These read models, files or figures, not arguments; what they take is tested where they are.
NOT_HERE = {"add_graph", "add_onnx_graph", "add_openvino_graph", "add_figure"}


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    name = draw(st.sampled_from(sorted(SOUND)))
    known = list(inspect.signature(getattr(SummaryWriter, name)).parameters)[1:]
    arguments = dict(SOUND[name])
    for parameter in draw(st.lists(st.sampled_from(known), max_size=2, unique=True)):
        arguments[parameter] = draw(BY_NAME.get(parameter, values))
    return name, arguments


def test_every_call_is_here() -> None:
    public = {name for name in dir(SummaryWriter) if name.startswith("add_")}
    assert public == set(SOUND) | NOT_HERE


@pytest.mark.parametrize("name", SOUND)
def test_what_the_examples_start_from_succeeds(folder: Path, name: str) -> None:
    with SummaryWriter(folder) as writer:
        getattr(writer, name)(**SOUND[name])
    check_files(folder)


# What the modules of the format call an argument, and what the peers say of an empty one.
ALSO_CALLED = {
    "snd_tensor": ("samples",),
    "box_tensor": ("boxes",),
    "label_img": ("label images",),
    "hparam_domain_discrete": ("domain_discrete",),
    "values": ("input",),
    "main_tag": ("tag",),
    "metric_dict": ("tag",),
    "config_dict": ("config",),
}


def attempt(call: Callable[..., Any], arguments: dict[str, Any]) -> None:
    """Only aboard's own errors may come out, and they name an argument."""
    message = ""
    try:
        call(**arguments)
    except (InvalidValue, InvalidType) as error:
        message = str(error)
    except StorageUnavailable:  # such as a name that is too long
        pass
    names = {*arguments, *inspect.signature(call).parameters}
    words = {*names, *(word for name in names for word in ALSO_CALLED.get(name, ()))}
    assert not message or any(word in message for word in words), f"{message!r} names none of {sorted(names)}"


def check_files(folder: Path) -> None:
    for path in processes.files(folder):
        assert processes.events(path)[0].file_version == "brain.Event:2"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Each example makes a folder of its own below it."""
    return tmp_path_factory.mktemp("fuzz")


@examples(200)
@given(sequence=st.lists(calls(), min_size=1, max_size=6))
def test_any_sequence_of_calls_leaves_sound_files(folder: Path, sequence: list[tuple[str, dict[str, Any]]]) -> None:
    run = Path(tempfile.mkdtemp(dir=folder))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # numpy's, of numbers that no format can hold
        warnings.simplefilter("error", WriteWarning)
        warnings.filterwarnings("ignore", "The embedding", WriteWarning)  # a tag too long for the name of its folder
        writer = SummaryWriter(run / "run")
        for name, arguments in sequence:
            attempt(getattr(writer, name), arguments)
        writer.close()
    check_files(run)
    assert {path.name for path in run.iterdir()} == {"run"}  # nothing was written elsewhere


@given(
    tag=texts,
    value=floats | integers | values,
    step=integers | floats,
    walltime=st.none() | floats,
    new_style=st.booleans(),
    double_precision=st.booleans(),
)
def test_a_scalar_of_anything(folder: Path, **arguments: Any) -> None:
    run = Path(tempfile.mkdtemp(dir=folder))
    arguments.update(scalar_value=arguments.pop("value"), global_step=arguments.pop("step"))
    with SummaryWriter(run) as writer:
        attempt(writer.add_scalar, arguments)
    check_files(run)


@given(
    logdir=texts | st.none(),
    purge_step=st.none() | integers,
    max_queue=st.none() | integers | plain,
    flush_secs=st.none() | floats | plain,
    filename_suffix=texts,
)
def test_a_writer_made_of_anything(folder: Path, logdir: str | None, **arguments: Any) -> None:
    made: list[SummaryWriter] = []
    place = None if logdir is None else f"{folder}/{logdir.replace('..', '__')}"
    attempt(lambda **named: made.append(SummaryWriter(place, **named)), arguments)
    for writer in made:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WriteWarning)
            writer.add_scalar("a", 1, 1)
            writer.close()
        if logdir is None:
            shutil.rmtree(writer.logdir)


@given(event=values, summary=values, step=integers | values, walltime=floats | values)
def test_a_file_writer_takes_only_messages(folder: Path, event: Any, summary: Any, step: Any, walltime: Any) -> None:
    run = Path(tempfile.mkdtemp(dir=folder))
    writer = FileWriter(run)
    if not isinstance(event, bytes):  # bytes are taken as they are
        attempt(writer.add_event, {"event": event, "step": step, "walltime": walltime})
    if not isinstance(summary, bytes):
        attempt(writer.add_summary, {"summary": summary, "global_step": step, "walltime": walltime})
    attempt(writer.add_graph, {"graph_profile": event, "walltime": walltime})
    writer.close()
    check_files(run)
