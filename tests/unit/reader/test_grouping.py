# SPDX-License-Identifier: Apache-2.0
"""Which folders make one run."""

import pytest

from aboard.reader.grouping import group_logdirs


def grouped(*paths: str, split_root: bool = True) -> dict[str, list[str]]:
    found = group_logdirs((tuple(filter(None, path.split("/"))) for path in paths), split_root=split_root)
    return {"/".join(run): ["/".join(logdir) for logdir in logdirs] for run, logdirs in found.items()}


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (["a", "b"], {"a": ["a"], "b": ["b"]}),
        (["a/train", "a/validation"], {"a": ["a/train", "a/validation"]}),
        (["a", "a/1700000000.5"], {"a": ["a", "a/1700000000.5"]}),
        (["a", "a/loss_train", "a/loss_val"], {"a": ["a", "a/loss_train", "a/loss_val"]}),
        (["sweep/lr1", "sweep/lr2"], {"sweep/lr1": ["sweep/lr1"], "sweep/lr2": ["sweep/lr2"]}),
        (["train", "eval"], {"": ["train", "eval"]}),
        ([""], {"": [""]}),
        (["", "a", "b"], {"": [""], "a": ["a"], "b": ["b"]}),
        (["", "train", "1700000000.5", "b"], {"": ["", "train", "1700000000.5"], "b": ["b"]}),
        (["", "train", "1700000000.5"], {"": ["", "train", "1700000000.5"]}),
    ],
)
def test_folders_of_one_run_stand_together(paths, expected):
    assert grouped(*paths) == expected


def test_a_folder_that_is_a_run_takes_everything_below_it():
    assert grouped("", "a", "b/c", split_root=False) == {"": ["", "a", "b/c"]}
