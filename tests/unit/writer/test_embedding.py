# SPDX-License-Identifier: Apache-2.0
"""`add_embedding`: the files it leaves for TensorBoard's projector."""

import warnings

import numpy as np
import pytest
from PIL import Image

from aboard import SummaryWriter
from aboard.errors import InvalidType, InvalidValue, WriteWarning
from support.reading import projector_config, scalars

MATRIX = np.arange(6, dtype=np.float32).reshape(3, 2)


@pytest.fixture
def writer(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        yield writer


def files(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} - {
        path.relative_to(folder).as_posix() for path in folder.rglob("*tfevents*")
    }


def test_all_files_and_their_entry(writer, tmp_path):
    writer.add_embedding(
        MATRIX, list("abc"), np.ones((3, 3, 4, 4)), 12, "layer/1"
    )  # without flush: the files are there when it returns
    place = "00012/layer%2f1"
    assert files(tmp_path) == {f"{place}/{name}" for name in ("tensors.tsv", "metadata.tsv", "sprite.png")} | {
        "projector_config.pbtxt"
    }
    assert (tmp_path / place / "tensors.tsv").read_text() == "0.0\t1.0\n2.0\t3.0\n4.0\t5.0\n"
    assert (tmp_path / place / "metadata.tsv").read_text() == "a\nb\nc\n"
    with Image.open(tmp_path / place / "sprite.png") as sprite:
        assert sprite.size == (8, 8)
    (entry,) = projector_config(tmp_path).embeddings
    assert entry.tensor_name == "layer/1:00012"
    assert entry.tensor_path == f"{place}/tensors.tsv"
    assert entry.metadata_path == f"{place}/metadata.tsv"
    assert entry.sprite.image_path == f"{place}/sprite.png"
    assert list(entry.sprite.single_image_dim) == [4, 4]


def test_matrix_alone(writer, tmp_path):
    writer.add_embedding(MATRIX.tolist())
    assert files(tmp_path) == {"00000/default/tensors.tsv", "projector_config.pbtxt"}


def test_table_of_labels(writer, tmp_path):
    writer.add_embedding(MATRIX, [["a", 1], ["b\tc", 2], ["d\n", 3]], metadata_header=["name", "number"])
    writer.flush()
    assert (tmp_path / "00000/default/metadata.tsv").read_text() == "name\tnumber\na\t1\nb c\t2\nd \t3\n"


def test_entries_accumulate_also_across_writers(tmp_path):
    for step in (1, 2):
        with SummaryWriter(tmp_path) as writer:
            writer.add_embedding(MATRIX, global_step=step)
            writer.add_embedding(MATRIX, global_step=step, tag='quo"ted')
    names = [entry.tensor_name for entry in projector_config(tmp_path).embeddings]
    assert names == ["default:00001", 'quo"ted:00001', "default:00002", 'quo"ted:00002']


def test_the_same_embedding_again_replaces_the_first(writer, tmp_path):
    writer.add_embedding(MATRIX)
    writer.add_embedding(MATRIX + 1)
    writer.flush()
    assert len(projector_config(tmp_path).embeddings) == 1
    assert (tmp_path / "00000/default/tensors.tsv").read_text().startswith("1.0\t2.0\n")


@pytest.mark.parametrize("tag", ["..", ".", "../../x", "a\\b", "50%", "new\nline"])
def test_no_tag_leaves_the_folder(writer, tmp_path, tag):
    writer.add_embedding(MATRIX, tag=tag)
    writer.flush()
    (entry,) = projector_config(tmp_path).embeddings
    assert entry.tensor_name == f"{tag}:00000"
    (folder,) = (tmp_path / "00000").iterdir()
    assert (folder / "tensors.tsv").is_file()
    assert (tmp_path / entry.tensor_path).resolve() == folder / "tensors.tsv"


def test_the_tutorials_form_returns_the_model(writer, tmp_path):
    """An old tutorial has `model = writer.add_embedding(model, embeddings)`."""

    class Model:
        def state_dict(self):
            return {}

    model = Model()
    assert writer.add_embedding(model, MATRIX, global_step=3) is model
    assert writer.add_embedding(MATRIX, global_step=4) is None
    writer.flush()
    names = [entry.tensor_name for entry in projector_config(tmp_path).embeddings]
    assert names == ["default:00003", "default:00004"]


def test_the_matrix_is_copied(writer, tmp_path):
    matrix = MATRIX.copy()
    writer.add_embedding(matrix)
    matrix[:] = 9
    writer.flush()
    assert (tmp_path / "00000/default/tensors.tsv").read_text().startswith("0.0\t1.0\n")


def test_a_folder_that_vanishes_is_reported_and_training_goes_on(writer, tmp_path):
    (tmp_path / "00007").write_text("a file where a folder should be")
    with pytest.warns(WriteWarning, match="The embedding 'default' was not written: .*00007"):
        writer.add_embedding(MATRIX, global_step=7)
    with warnings.catch_warnings(action="error"):
        writer.add_scalar("t", 1)
        writer.close()
    assert scalars(tmp_path) == [("t", 0, 1.0)]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"mat": [1.0, 2.0]}, InvalidValue, r"mat must be a matrix .* shape \(2,\)"),
        ({"mat": np.zeros((0, 3))}, InvalidValue, "mat must be a matrix"),
        ({"mat": "abc"}, InvalidType, "mat must be a number or an array"),
        ({"mat": MATRIX, "metadata": ["a"]}, InvalidValue, r"one entry per row of mat \(3\), got 1"),
        ({"mat": MATRIX, "metadata": 5}, InvalidType, "metadata must be a list .* got 5"),
        ({"mat": MATRIX, "label_img": np.zeros((2, 3, 4, 4))}, InvalidValue, r"one image per row of mat \(3\)"),
        ({"mat": MATRIX, "label_img": 5}, InvalidValue, r"label_img must have one image per row"),
        ({"mat": MATRIX, "label_img": np.zeros((3, 3, 4, 5))}, InvalidValue, "square pictures"),
        ({"mat": MATRIX, "label_img": np.zeros((3, 1, 8192, 8192), bool)}, InvalidValue, "allows 8192"),
        ({"mat": MATRIX, "metadata": list("abc"), "metadata_header": ["x", "y"]}, InvalidValue, "header has 2"),
        ({"mat": MATRIX, "tag": 5}, InvalidType, "tag must be a string, got 5"),
    ],
)
def test_bad_input_is_refused_at_once(writer, tmp_path, arguments, error, message):
    with pytest.raises(error, match=message):
        writer.add_embedding(**arguments)
    writer.flush()
    assert files(tmp_path) == set()
