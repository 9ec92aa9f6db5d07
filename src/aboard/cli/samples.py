# SPDX-License-Identifier: Apache-2.0
"""How many entries of a series a person wants to see, in aboard's way and in TensorBoard's."""

from __future__ import annotations

from aboard.model.plugin_samples import parse_samples


def samples_of(samples: int | None, per_plugin: str | None) -> dict[str, int]:
    """The wanted number by plugin; 0 stands for all."""
    return parse_samples(per_plugin or "", {} if samples is None else {"scalars": samples})
