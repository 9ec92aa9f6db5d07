# SPDX-License-Identifier: Apache-2.0
"""The outer messages, and that the whole package imports without forbidden packages."""

import subprocess
import sys

from tensorboard.compat.proto.summary_pb2 import Summary

from aboard.events.summary import summary, tagged_value

MODULES = (
    "audio custom_scalars file_names histogram hparams image mesh metadata pixels pr_curve projector scalar "
    "summary tensor text video wire_text"
)
FORBIDDEN = {"google", "tensorboard", "tensorboardX", "torch", "matplotlib", "soundfile"}


def test_values_keep_their_order_and_tags():
    parsed = Summary.FromString(summary(tagged_value("a"), tagged_value("größe/b")))
    assert [value.tag for value in parsed.value] == ["a", "größe/b"]


def test_a_summary_without_values_is_empty():
    assert summary() == b""


def test_importing_everything_needs_no_forbidden_package():
    code = f"""
import importlib, sys
for name in {MODULES!r}.split():
    importlib.import_module(f"aboard.events.{{name}}")
print(*{{name.partition(".")[0] for name in sys.modules}})
"""
    output = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert not FORBIDDEN & set(output.split())
