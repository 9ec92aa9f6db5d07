# SPDX-License-Identifier: Apache-2.0
"""What `aboard` offers, and that both peers' names and arguments are there."""

import importlib
import inspect

import pytest
import tensorboardX

import aboard
from aboard.writer import global_writer
from support.cases import all_cases

# Signatures of torch 2.13, which is not installed here.
TORCH = {
    "__init__": "log_dir comment purge_step max_queue flush_secs filename_suffix",
    "add_audio": "tag snd_tensor global_step sample_rate walltime",
    "add_custom_scalars": "layout",
    "add_custom_scalars_marginchart": "tags category title",
    "add_custom_scalars_multilinechart": "tags category title",
    "add_embedding": "mat metadata label_img global_step tag metadata_header",
    "add_figure": "tag figure global_step close walltime",
    "add_graph": "model input_to_model verbose use_strict_trace",
    "add_histogram": "tag values global_step bins walltime max_bins",
    "add_histogram_raw": "tag min max num sum sum_squares bucket_limits bucket_counts global_step walltime",
    "add_hparams": "hparam_dict metric_dict hparam_domain_discrete run_name global_step",
    "add_image": "tag img_tensor global_step walltime dataformats",
    "add_image_with_boxes": "tag img_tensor box_tensor global_step walltime rescale dataformats labels",
    "add_images": "tag img_tensor global_step walltime dataformats",
    "add_mesh": "tag vertices colors faces config_dict global_step walltime",
    "add_onnx_graph": "prototxt",
    "add_pr_curve": "tag labels predictions global_step num_thresholds weights walltime",
    "add_pr_curve_raw": (
        "tag true_positive_counts false_positive_counts true_negative_counts false_negative_counts precision recall "
        "global_step num_thresholds weights walltime"
    ),
    "add_scalar": "tag scalar_value global_step walltime new_style double_precision",
    "add_scalars": "main_tag tag_scalar_dict global_step walltime",
    "add_tensor": "tag tensor global_step walltime",
    "add_text": "tag text_string global_step walltime",
    "add_video": "tag vid_tensor global_step fps walltime",
    "close": "",
    "flush": "",
    "get_logdir": "",
}
LEFT_OUT = {"kwargs"}  # tensorboardX swallows any misspelt argument; aboard names it in an error


def public_methods(kind):
    methods = inspect.getmembers(kind, callable)
    return {name: member for name, member in methods if not name.startswith("_") or name == "__init__"}


def names_of(function):
    return set(inspect.signature(function).parameters) - {"self"}


def parameters(kind, method):
    """The arguments of a method; for `__init__` those of the class that takes them one by one."""
    if method == "__init__":
        for base in kind.__mro__:
            found = names_of(base.__init__) if "__init__" in vars(base) else set()
            if not found & {"named", "kwargs"} and found:
                return found
    return names_of(getattr(kind, method))


def test_all_is_what_is_importable():
    # A star import must leave the built-in `open` where it is.
    assert set(dir(aboard)) == {*aboard.__all__, "open"}
    for name in dir(aboard):
        assert getattr(aboard, name) is not None
    classes = {"Board", "Client", "FileWriter", "GlobalSummaryWriter", "Job", "RecordWriter", "Run", "SummaryWriter"}
    calls = {"add_tensorboard", "register_writer_factory", "submit", "sweep"}
    assert set(aboard.__all__) == classes | calls | {"TensorBoard", "__version__"}


def test_names_live_where_their_modules_say():
    for name in set(dir(aboard)) - {"__version__"}:
        value = getattr(aboard, name)
        assert getattr(importlib.import_module(value.__module__), name) is value


def test_a_star_import_leaves_the_built_in_open_alone():
    names: dict[str, object] = {}
    exec("from aboard import *", names)
    assert "SummaryWriter" in names
    assert "open" not in names


def test_unknown_name():
    with pytest.raises(AttributeError, match="'aboard' has no attribute 'Sumary'"):
        _ = aboard.Sumary


@all_cases("method", public_methods(tensorboardX.SummaryWriter))
def test_arguments_of_tensorboardx(method):
    wanted = parameters(tensorboardX.SummaryWriter, method) or names_of(getattr(tensorboardX.SummaryWriter, method))
    assert wanted - LEFT_OUT <= parameters(aboard.SummaryWriter, method)


@all_cases("method", TORCH)
def test_arguments_of_torch(method):
    assert set(TORCH[method].split()) <= parameters(aboard.SummaryWriter, method)


@all_cases("method", sorted(TORCH.keys() - {"__init__", "add_onnx_graph"}))
def test_order_of_torchs_arguments(method):
    """Positional calls mean the same; only the name of ONNX's single argument differs by position."""
    ours = [name for name in inspect.signature(getattr(aboard.SummaryWriter, method)).parameters if name != "self"]
    wanted = TORCH[method].split()
    assert ours[: len(wanted)] == wanted


@pytest.mark.parametrize("kind", ["GlobalSummaryWriter", "FileWriter", "RecordWriter"])
def test_methods_of_tensorboardxs_other_classes(kind):
    peer, ours = getattr(tensorboardX, kind), getattr(aboard, kind)
    for method, function in public_methods(peer).items():
        assert hasattr(ours, method)
        if method != "__init__":
            assert names_of(function) <= names_of(getattr(ours, method)), method


def test_global_writer_takes_the_arguments_of_summary_writer(tmp_path):
    writer = aboard.GlobalSummaryWriter(logdir=tmp_path, filename_suffix=".x", coalesce_process=False)
    assert writer.get_logdir() == str(tmp_path)
    assert [path.suffix for path in tmp_path.iterdir()] == [".x"]
    writer.close()
    assert global_writer.GlobalSummaryWriter is aboard.GlobalSummaryWriter


def test_the_package_is_typed():
    from importlib.resources import files

    assert files("aboard").joinpath("py.typed").is_file()
