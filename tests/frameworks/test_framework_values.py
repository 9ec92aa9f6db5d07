# SPDX-License-Identifier: Apache-2.0
"""Numbers and arrays of torch, JAX, TensorFlow and of anything array-like are taken as they are.

There is no GPU here: CUDA is played by `OnDevice`, an object that has its values only after `detach().cpu()`.
"""

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tensorflow as tf
import torch

import aboard
from aboard.errors import InvalidType, InvalidValue
from support.reading import points, raw_values, scalars


class OnDevice:
    """A tensor whose memory the CPU cannot read: every shortcut fails, `detach().cpu()` works."""

    def __init__(self, tensor, *, attached=True):
        self._tensor, self._attached = tensor, attached
        self.shape, self.dtype, self.layout, self.device = tensor.shape, tensor.dtype, tensor.layout, "cuda:0"

    def detach(self):
        return OnDevice(self._tensor, attached=False)

    def cpu(self):
        assert not self._attached, "the graph must be left before values are copied"
        return self._tensor

    def float(self):
        return OnDevice(self._tensor.float(), attached=False)

    def _refuse(self, *_):
        raise TypeError("can't convert cuda:0 device type tensor to numpy")

    __array__ = __float__ = __int__ = numpy = item = tolist = _refuse


class OnlyDLPack:
    """What a framework without numpy offers."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **named):
        return self._array.__dlpack__(**named)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


class OnlyArray:
    def __init__(self, array):
        self._array = array

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self._array, dtype=dtype)


FLOAT8 = [name for name in ("float8_e4m3fn", "float8_e5m2") if hasattr(torch, name)]
# Each makes the framework's value of a numpy array; 0, 0.25, 0.5 and 1 are exact in all of them.
MAKERS = {
    "torch": torch.from_numpy,
    "torch requiring a gradient": lambda a: torch.from_numpy(a).requires_grad_(),
    "torch inside a graph": lambda a: torch.from_numpy(a).requires_grad_() * 1,
    "torch float16": lambda a: torch.from_numpy(a).half(),
    "torch bfloat16": lambda a: torch.from_numpy(a).bfloat16(),
    "torch float64": lambda a: torch.from_numpy(a).double(),
    "torch sparse": lambda a: torch.from_numpy(a).to_sparse(),
    "torch negated lazily": lambda a: torch.complex(torch.zeros(a.shape), torch.from_numpy(np.array(-a))).conj().imag,
    "torch not contiguous": lambda a: torch.from_numpy(np.stack([a, a + 9], axis=-1))[..., 0],
    "torch parameter": lambda a: torch.nn.Parameter(torch.from_numpy(a)),
    "torch quantized": lambda a: torch.quantize_per_tensor(torch.from_numpy(a), 0.25, 0, torch.quint8),
    **{f"torch {name}": lambda a, name=name: torch.from_numpy(a).to(getattr(torch, name)) for name in FLOAT8},
    "on a device": lambda a: OnDevice(torch.from_numpy(a)),
    "on a device, bfloat16": lambda a: OnDevice(torch.from_numpy(a).bfloat16()),
    "jax": jnp.asarray,
    "jax bfloat16": lambda a: jnp.asarray(a, jnp.bfloat16),
    "jax float8": lambda a: jnp.asarray(a, jnp.float8_e4m3fn),
    "tensorflow": tf.constant,
    "tensorflow bfloat16": lambda a: tf.cast(a, tf.bfloat16),
    "tensorflow variable": tf.Variable,
    "dlpack only": OnlyDLPack,
    "__array__ only": OnlyArray,
}
pytestmark = pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor:UserWarning")
maker = pytest.mark.parametrize("name", MAKERS)
IMAGE = np.array([[0, 0.25, 0.5], [1, 0.5, 0]], np.float32)


@pytest.fixture
def writer(tmp_path):
    with aboard.SummaryWriter(tmp_path) as writer:
        yield writer


@maker
def test_scalar(name, writer, tmp_path):
    writer.add_scalar("t", MAKERS[name](np.array(0.5, np.float32)), 3)
    writer.close()
    assert scalars(tmp_path) == [("t", 3, 0.5)]


@maker
def test_scalars_and_metrics(name, writer, tmp_path):
    writer.add_scalars("t", {"a": MAKERS[name](np.array(0.25, np.float32))}, 1)
    writer.add_hparams({}, {"metric": MAKERS[name](np.array([0.5], np.float32))}, run_name="trial")
    writer.close()
    assert scalars(tmp_path / "t" / "a") == [("t", 1, 0.25)]
    assert scalars(tmp_path / "trial") == [("metric", 0, 0.5)]


@maker
def test_histogram(name, writer, tmp_path):
    writer.add_histogram("t", MAKERS[name](IMAGE), 3)
    writer.close()
    ((_, value),) = raw_values(tmp_path)
    histogram = value.histo
    assert (histogram.num, histogram.min, histogram.max, histogram.sum) == (6, 0, 1, 2.25)


@maker
def test_image(name, writer, tmp_path):
    writer.add_image("t", MAKERS[name](IMAGE), 3, dataformats="HW")
    writer.close()
    (point,) = points(tmp_path)
    np.testing.assert_array_equal(point.value["frames"][0, :, :, 0], (IMAGE * 255).astype(np.uint8))


@maker
def test_tensor(name, writer, tmp_path):
    writer.add_tensor("t", MAKERS[name](IMAGE), 3)
    writer.close()
    (point,) = points(tmp_path)
    np.testing.assert_array_equal(point.value, IMAGE)


@pytest.mark.parametrize("step", [torch.tensor(7), jnp.asarray(7), tf.constant(7), np.int64(7), torch.tensor([7])])
def test_step(step, writer, tmp_path):
    writer.add_scalar("scalar", 1.0, step)
    writer.add_text("text", "x", step)
    with writer.use_metadata(global_step=step):
        writer.add_scalar("inside", 1.0)
    writer.close()
    assert {point.step for point in points(tmp_path)} == {7}


def test_wall_time_of_torch(writer, tmp_path):
    writer.add_scalar("t", 1.0, 1, walltime=torch.tensor(1000.5, dtype=torch.float64))
    writer.close()
    (point,) = points(tmp_path)
    assert point.wall_time == 1000.5


def test_list_of_tensors(writer, tmp_path):
    writer.add_images("t", [torch.zeros(3, 4, 5), torch.ones(3, 4, 5)], 1)
    writer.add_tensor("u", [torch.tensor(1.0), 2.0, np.float32(3)], 1)
    writer.close()
    images, tensor = points(tmp_path)
    assert images.value["declared"] == (10, 4)
    np.testing.assert_array_equal(tensor.value, [1, 2, 3])


def test_complex_tensors(writer, tmp_path):
    numbers = torch.tensor([1 + 2j, 3 - 4j])
    writer.add_tensor("t", numbers.conj(), 1)
    writer.close()
    (point,) = points(tmp_path)
    np.testing.assert_array_equal(point.value, [1 - 2j, 3 + 4j])
    with pytest.raises(InvalidType, match="values must hold real numbers"):
        writer.add_histogram("t", numbers)


@pytest.mark.parametrize(
    "call",
    [
        lambda w, t: w.add_scalar("t", t),
        lambda w, t: w.add_histogram("t", t),
        lambda w, t: w.add_image("t", t),
        lambda w, t: w.add_tensor("t", t),
        lambda w, t: w.add_embedding(t),
    ],
)
def test_a_meta_tensor_holds_no_values(call, writer):
    with pytest.raises(InvalidValue, match="meta device"):
        call(writer, torch.zeros(3, 2, 2, device="meta"))


def test_numbers_that_numpy_cannot_hold_are_refused(writer):
    packed = torch.zeros(4, dtype=torch.uint8).view(torch.float4_e2m1fn_x2)
    with pytest.raises(InvalidType, match="values could not be read as an array"):
        writer.add_histogram("t", packed)


def test_a_meta_tensor_is_no_step(writer):
    with pytest.raises(InvalidType, match="global_step must be a number"):
        writer.add_scalar("t", 1.0, torch.tensor(3, device="meta"))


def test_traced_values_are_refused_with_what_jax_says(writer):
    """Inside jit there are no values yet."""

    def step(x):
        writer.add_scalar("loss", x)
        return x

    with pytest.raises(InvalidType, match="scalar_value could not be read"):
        jax.jit(step)(1.0)


def test_symbolic_tensorflow_values_are_refused(writer):
    @tf.function(autograph=False)  # which would wrap the error
    def step(x):
        writer.add_scalar("loss", x)
        return x

    with pytest.raises(InvalidType, match="scalar_value"):
        step(tf.constant(1.0))


def test_a_caller_may_reuse_its_buffer(writer, tmp_path):
    """What the background thread encodes later is what the tensor held during the call."""
    buffer = torch.zeros(3, 64, 64, dtype=torch.uint8)
    for step in range(20):
        buffer.fill_(step)
        writer.add_image("image", buffer, step)
        writer.add_histogram("histogram", buffer.float(), step)
    buffer.fill_(255)
    writer.close()
    found = points(tmp_path)
    assert [p.value["frames"][0, 0, 0, 0] for p in found if p.tag == "image"] == list(range(20))


@pytest.mark.parametrize("package", ["torch", "jax", "tensorflow"])
def test_no_framework_is_imported(package, tmp_path):
    code = (
        "import sys, numpy as np; from aboard import SummaryWriter\n"
        f"w = SummaryWriter({str(tmp_path)!r})\n"
        "w.add_scalar('s', 1.0, 1); w.add_histogram('h', np.ones(3)); w.add_image('i', np.ones((3, 2, 2)))\n"
        "w.add_audio('a', np.zeros(5)); w.add_hparams({'lr': 1}, {'m': 2}); w.close()\n"
        f"sys.exit({package!r} in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=100).returncode == 0
