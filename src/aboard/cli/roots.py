# SPDX-License-Identifier: Apache-2.0
"""The folders that a person names on the command line, in aboard's way and in TensorBoard's."""

from __future__ import annotations

from collections.abc import Sequence

from aboard.reader.roots import Root, find_roots, named_path


def roots_of(paths: Sequence[str], logdir: str | None, logdir_spec: str | None) -> dict[str, Root]:
    """Names and folders or URIs. One folder without a name adds nothing to the names of its runs."""
    named = [named_path(path) for path in paths]
    if logdir is not None:
        named.append(("", logdir))
    if logdir_spec is not None:
        named += [_specified(part) for part in logdir_spec.split(",") if part]
    return find_roots(named)


def _specified(part: str) -> tuple[str, str]:
    """`name:path` of --logdir_spec, as TensorBoard splits it; the colon of a URI separates nothing."""
    name, separator, path = part.partition(":")
    is_name = separator and not name.startswith("/") and not path.startswith("//")
    return (name, path) if is_name else ("", part)
