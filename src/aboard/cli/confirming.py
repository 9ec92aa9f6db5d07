# SPDX-License-Identifier: Apache-2.0
"""Asks before something is deleted."""

from __future__ import annotations

import sys

import typer

from aboard.errors import InvalidValue


def confirm(question: str, *, yes: bool) -> None:
    """Go on after a yes; without a terminal to ask at, `--yes` is needed."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise InvalidValue(f"{question} Nobody can be asked here, so nothing was done.", hint="Give --yes.")
    if not typer.confirm(question, err=True):
        typer.echo("Nothing was done.", err=True)
        raise typer.Exit(1)
