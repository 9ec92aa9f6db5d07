# SPDX-License-Identifier: Apache-2.0
"""The command `aboard`: one module per subcommand, loaded when it runs."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from aboard import __version__
from aboard.errors import AboardError

app = typer.Typer(
    name="aboard",
    help="Log from any framework, keep every run, open any combination of runs as a board.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"aboard {__version__}")
        raise typer.Exit


@app.callback()
def aboard(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Log from any framework, keep every run, open any combination of runs as a board."""


@app.command()
def demo(
    folder: Annotated[str, typer.Argument(help="Where to write the sample runs.")] = "runs/demo",
    steps: Annotated[int, typer.Option(min=1, max=100_000, help="Optimisation steps of each run.")] = 300,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Write sample runs: small models trained here and now, with every kind of summary."""
    from aboard.cli.demo import write_sample_runs

    write_sample_runs(folder, steps=steps, as_json=as_json)


def main() -> None:
    """Entry point: a person's mistake ends with a message and exit code 1, not with a traceback."""
    try:
        app()
    except AboardError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(1)
