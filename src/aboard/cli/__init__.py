# SPDX-License-Identifier: Apache-2.0
"""The command `aboard`: its options are declared here and in the packages of its groups.

Every start of the command loads this module. What a command does is in another module, which its function imports.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from aboard import __version__
from aboard.cli.habits import ViewCommand
from aboard.cli.parsing import CommandGroups, ExportFormat, Json
from aboard.cli.view import view
from aboard.errors import AboardError

if TYPE_CHECKING:
    from typer._click import Command

app = typer.Typer(
    name="aboard",
    cls=CommandGroups,
    help="Log from any framework, keep every run, open any combination of runs as a board.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    # Wraps at any width, where boxes cut names and texts; and sends no escape codes, so NO_COLOR has nothing to remove.
    rich_markup_mode=None,
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
def login(
    server: Annotated[
        str | None, typer.Argument(help="Address of the server; without it the configured one.", show_default=False)
    ] = None,
    *,
    token: Annotated[
        str | None, typer.Option(help="A token, or the code of a link; - reads it from standard input.")
    ] = None,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Log in by way of a browser where that is possible.")
    ] = True,
    as_json: Json = False,
) -> None:
    """Log in at a server: commands and trainings of this account ask it from now on."""
    from aboard.cli.people.login import log_in

    log_in(server, token, browser=browser, as_json=as_json)


@app.command()
def logout(
    server: Annotated[
        str | None, typer.Argument(help="Address of the server; without it that of the last login.", show_default=False)
    ] = None,
) -> None:
    """Forget a login, and revoke its token."""
    from aboard.cli.people.login import log_out

    log_out(server)


@app.command(context_settings={"allow_interspersed_args": False})
def submit(
    command: Annotated[list[str], typer.Argument(help="The command, best behind two dashes.", metavar="-- CMD...")],
    *,
    executor: Annotated[
        str | None,
        typer.Option(
            help="Where: local, docker, slurm:partition=gpu,time_limit=60 or kubernetes:namespace=ml.",
            show_default="`jobs.executor` of the settings, or local",
        ),
    ] = None,
    source_dir: Annotated[
        str | None,
        typer.Option("--source-dir", "--source", help="Folder to send along, without what git ignores."),
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the run; one that is there is gone on with.")] = None,
    workspace: Annotated[str | None, typer.Option(help="Where the run belongs.")] = None,
    experiment: Annotated[str, typer.Option(help="Which runs it belongs with.")] = "",
    hparams: Annotated[
        list[str] | None, typer.Option("--hparam", help="NAME=VALUE; {hparams.NAME} in the command; repeatable.")
    ] = None,
    grid: Annotated[
        list[str] | None,
        typer.Option("--grid", help="NAME=VALUE,VALUE: a sweep, one run for each combination; repeatable."),
    ] = None,
    at_once: Annotated[int | None, typer.Option("--at-once", min=1, help="Runs of a sweep at a time.")] = None,
    tags: Annotated[list[str] | None, typer.Option("--tag", help="NAME or NAME=VALUE; repeatable.")] = None,
    environment: Annotated[list[str] | None, typer.Option("--env", help="NAME=VALUE; repeatable.")] = None,
    image: Annotated[str, typer.Option(help="For containers; it needs aboard in it.")] = "",
    cpus: Annotated[float | None, typer.Option(help="Processors.")] = None,
    memory: Annotated[str | None, typer.Option(help="As 16GiB.")] = None,
    gpus: Annotated[int, typer.Option(min=0, help="GPUs.")] = 0,
    gpu_type: Annotated[str, typer.Option("--gpu-type", help="Which GPUs.")] = "",
    service_account: Annotated[
        str, typer.Option("--service-account", "--k8s-service-account", help="On Kubernetes.")
    ] = "",
    timeout: Annotated[str | None, typer.Option(help="Longest time, as 2h or 1m30s.")] = None,
    grace: Annotated[float, typer.Option(min=0, help="Seconds to end in, when it is asked to.")] = 30.0,
    restarts: Annotated[
        int, typer.Option(min=0, max=1000, help="How often to start again after failures and kills.")
    ] = 0,
    program: Annotated[
        str, typer.Option(help="The program aboard on the other side.", show_default="this one, or `aboard`")
    ] = "",
    wait: Annotated[bool, typer.Option("--wait", help="Show what it prints, and end as it does.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what the executor would be given, as YAML, and submit nothing.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Run a training command as a run where an executor starts it; prints the ids of the jobs."""
    from aboard.cli.jobs import SubmitOptions
    from aboard.cli.jobs import submit as submitted
    from aboard.jobs.submission import JobRequest

    asked = JobRequest(
        command=command,
        source_dir=source_dir,
        executor=executor,
        experiment=experiment,
        workspace=workspace,
        name=name,
        image=image,
        cpus=cpus,
        memory=memory,
        gpus=gpus,
        gpu_type=gpu_type,
        service_account=service_account,
        timeout=timeout,
        grace=grace,
        restarts=restarts,
        program=program,
    )
    options = SubmitOptions(
        hparams=hparams or [],
        grid=grid or [],
        tags=tags or [],
        environment=environment or [],
        at_once=at_once,
        wait=wait,
        dry_run=dry_run,
        as_json=as_json,
    )
    sys.exit(submitted(asked, options))


@app.command()
def demo(
    folder: Annotated[str, typer.Argument(help="Where to write the sample runs.")] = "runs/demo",
    steps: Annotated[int, typer.Option(min=1, max=100_000, help="Optimisation steps of each run.")] = 300,
    *,
    as_json: Json = False,
) -> None:
    """Write sample runs: small models trained here and now, with every kind of summary."""
    from aboard.cli.demo import write_sample_runs

    write_sample_runs(folder, steps=steps, as_json=as_json)


app.command(cls=ViewCommand)(view)


Sources = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[FOLDER|URI|RUNS]...",
        help="Folders, URIs, patterns or event files, or runs of a server as run343 or exp7. Default: this folder.",
        show_default=False,
    ),
]
FilterOption = Annotated[
    str | None, typer.Option("--where", help="Only runs matching this filter, as 'hparams.lr < 0.01'.")
]
SortOption = Annotated[
    str | None,
    typer.Option("--sort", help="A field, with a minus for descending order, as -metrics.acc.max."),
]


@app.command()
def ls(
    sources: Sources = None,
    *,
    where: FilterOption = None,
    sort: SortOption = None,
    metrics: Annotated[
        list[str] | None,
        typer.Option("--metric", "-m", help="Show this metric. Repeatable.", show_default="common ones"),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns",
            help="Columns separated by commas: name, hparams.lr=LR, metrics.loss.min:.3f.",
            show_default="name,status,started,duration, differing hparams, common metrics",
        ),
    ] = None,
    add_columns: Annotated[str | None, typer.Option("--add-columns", help="Columns besides the default ones.")] = None,
    last: Annotated[int, typer.Option("--last", "-n", min=0, help="Show this many runs; 0 shows all.")] = 0,
    sparklines: Annotated[
        bool, typer.Option("--sparklines/--no-sparklines", help="Draw a small curve before each metric.")
    ] = True,
    precision: Annotated[int, typer.Option(min=1, max=17, help="Significant digits of numbers.")] = 4,
    max_width: Annotated[int, typer.Option(min=0, help="Maximum column width; 0 for any width.")] = 40,
    as_json: Json = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print comma-separated values.")] = False,
) -> None:
    """List runs as a table: aboard ls runs/ --sort -metrics.acc.max."""
    from aboard.cli.garbage_collection import collection_paused

    with collection_paused():
        from aboard.cli.ls import LsOptions, list_in_terminal

        list_in_terminal(
            LsOptions(
                words=sources or [],
                where=where,
                sort=sort,
                columns=columns,
                add_columns=add_columns,
                metrics=metrics or [],
                last=last,
                sparklines=sparklines,
                precision=precision,
                max_width=max_width,
                as_json=as_json,
                as_csv=as_csv,
            )
        )


@app.command()
def plot(
    sources: Sources = None,
    *,
    metrics: Annotated[list[str] | None, typer.Option("--metric", "-m", help="Draw this metric. Repeatable.")] = None,
    where: FilterOption = None,
    sort: SortOption = None,
    last: Annotated[int, typer.Option("--last", "-n", min=1, help="Draw this many runs.")] = 10,
    x_axis: Annotated[
        str, typer.Option("--x", help="The x-axis: step, or relative for time since the start.")
    ] = "step",
    log_y: Annotated[bool, typer.Option("--log-y", help="Logarithmic y-axis.")] = False,
    smoothing: Annotated[
        float, typer.Option("--smoothing", min=0.0, max=0.999, help="Smoothing as in TensorBoard.")
    ] = 0.0,
    width: Annotated[int, typer.Option(min=0, help="Width in characters.", show_default="the terminal's")] = 0,
    height: Annotated[int, typer.Option(min=3, max=200, help="Height in lines.")] = 15,
) -> None:
    """Draw curves in the terminal: aboard plot runs/ --metric loss."""
    from aboard.cli.garbage_collection import collection_paused

    with collection_paused():
        from aboard.cli.plot import PlotOptions
        from aboard.cli.plot import plot as draw_curves

        draw_curves(
            PlotOptions(
                words=sources or [],
                metrics=metrics or [],
                where=where,
                sort=sort,
                last=last,
                x_axis=x_axis,
                log_y=log_y,
                smoothing=smoothing,
                width=width,
                height=height,
            )
        )


@app.command()
def export(
    paths: Annotated[list[str], typer.Argument(help="Folders, URIs, name=FOLDER, patterns or event files.")],
    *,
    output: Annotated[str, typer.Option("--output", "-o", help="The file to write; - is standard output.")] = "-",
    form: Annotated[
        ExportFormat | None, typer.Option("--format", help="Without it the suffix of the output tells, else csv.")
    ] = None,
    tags: Annotated[
        list[str] | None,
        typer.Option("--tag", help="Only such tags: a name, a pattern as val/*, a /regular expression/. Repeatable."),
    ] = None,
    runs: Annotated[list[str] | None, typer.Option("--run", help="Only such runs, as with --tag. Repeatable.")] = None,
    superseded: Annotated[
        bool, typer.Option("--superseded", help="Also points that a restarted run has logged anew, and a column.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Write every point of every curve as CSV, Parquet or JSON."""
    from aboard.cli.arguments import parse_roots
    from aboard.cli.export import ExportOptions
    from aboard.cli.export import export as write

    write(
        ExportOptions(
            roots=parse_roots(paths, None, None),
            output=output,
            format=form,
            tags=tags or [],
            runs=runs or [],
            superseded=superseded,
            force=force,
        )
    )


@app.command()
def doctor(
    paths: Annotated[list[str], typer.Argument(help="Folders, URIs, name=FOLDER, patterns or event files.")],
    *,
    repair: Annotated[
        str | None,
        typer.Option(
            "--repair", metavar="OUT", help="Write a clean copy into this new folder; originals are not touched."
        ),
    ] = None,
    events_only: Annotated[
        bool, typer.Option("--events-only", help="With --repair: copy event files alone, no checkpoints and the like.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Find damaged, truncated, doubled and overlapping event files; exit code 1 means damage."""
    from aboard.cli.doctor import examine_folders

    examine_folders(paths, repair_to=repair, events_only=events_only, as_json=as_json)


@app.command(context_settings={"allow_interspersed_args": False})
def run(
    command: Annotated[list[str], typer.Argument(help="The command, best behind two dashes.", metavar="-- CMD...")],
    *,
    name: Annotated[
        str | None, typer.Option(help="Name of the run. One that is there is started again, with its files.")
    ] = None,
    workspace: Annotated[str | None, typer.Option(help="Where the run belongs.")] = None,
    experiment: Annotated[str | None, typer.Option(help="Which runs it belongs with.")] = None,
    hparams: Annotated[list[str] | None, typer.Option("--hparam", help="NAME=VALUE; repeatable.")] = None,
    configs: Annotated[
        list[str] | None, typer.Option("--config", help="JSON, TOML or YAML file with hyperparameters; repeatable.")
    ] = None,
    tags: Annotated[list[str] | None, typer.Option("--tag", help="NAME or NAME=VALUE; repeatable.")] = None,
    notes: Annotated[list[str] | None, typer.Option("--note", help="A text about the run; repeatable.")] = None,
    store: Annotated[
        str | None, typer.Option(help="Folder or URI in which runs are kept.", show_default="$ABOARD_STORE")
    ] = None,
    watched: Annotated[
        list[str] | None, typer.Option("--watch", help="Another folder with event files of this run; repeatable.")
    ] = None,
    mirrors: Annotated[
        list[str] | None, typer.Option("--mirror", help="Folder or URI for a second copy; repeatable.")
    ] = None,
    restarts: Annotated[int, typer.Option(min=0, max=1000, help="How often to start again after a failure.")] = 0,
    output: Annotated[
        str | None, typer.Option(help="Output folder of the run.", show_default="below $ABOARD_HOME/spool")
    ] = None,
    grace: Annotated[float, typer.Option(min=0, help="Seconds to end in, after a signal.")] = 30.0,
    flush_timeout: Annotated[float, typer.Option(min=0, help="Seconds for shipping the rest at the end.")] = 300.0,
    must_ship: Annotated[
        bool,
        typer.Option("--must-ship", help="This disk will be gone: fail with 74 if anything is not shipped."),
    ] = False,
    resources_every: Annotated[
        float, typer.Option(min=0, help="Seconds between looks at CPU, memory and GPUs; 0: none.")
    ] = 10.0,
    log_limit: Annotated[int, typer.Option(min=0, help="Bytes of output that are kept; its end is kept besides.")] = 32
    << 20,
    code: Annotated[bool, typer.Option("--code/--no-code", help="Note commit, branch and changes of git.")] = True,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say only what goes wrong.")] = False,
) -> None:
    """Run a training command as a run: its files and output are kept, and come back when it is started again."""
    from aboard.cli.run import RunOptions
    from aboard.cli.run import run as supervised

    sys.exit(
        supervised(
            RunOptions(
                command=command,
                name=name,
                workspace=workspace,
                experiment=experiment,
                hparams=hparams or [],
                configs=configs or [],
                tags=tags or [],
                notes=notes or [],
                store=store,
                watched=watched or [],
                mirrors=mirrors or [],
                restarts=restarts,
                output=output,
                grace=grace,
                flush_timeout=flush_timeout,
                resources_every=resources_every,
                log_limit=log_limit,
                capture_code=code,
                must_ship=must_ship,
                quiet=quiet,
            )
        )
    )


@app.command()
def sync(
    folders: Annotated[
        list[str] | None,
        typer.Argument(
            help="Folders of runs on this machine; without any, all below $ABOARD_HOME/spool. Or a folder of event "
            "files that were written without aboard, and a store: its runs are taken over, with their dates."
        ),
    ] = None,
    *,
    workspace: Annotated[str | None, typer.Option(help="Where runs that are taken over belong.")] = None,
    experiment: Annotated[str | None, typer.Option(help="Which runs they belong with.")] = None,
    depth: Annotated[
        int | None, typer.Option(min=0, help="They are so many levels below the folder.", show_default="found out")
    ] = None,
    timeout: Annotated[float, typer.Option(min=0, help="Seconds for each run.")] = 600.0,
    clean: Annotated[
        bool, typer.Option("--clean", help="Remove folders whose runs are wholly in their stores.")
    ] = False,
    columns: Annotated[
        bool,
        typer.Option(
            "--columns",
            help="The arguments are stores: put what was decoded of finished runs beside them where it is missing, so "
            "that they open as fast as newer ones.",
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Ship what runs have left on this machine: after a crash, days without network; or take log folders over."""
    if columns:
        from aboard.cli.sync import sync_columns

        sys.exit(sync_columns(folders or [], as_json=as_json))
    from aboard.cli.sync import TakeOverOptions
    from aboard.cli.sync import sync as ship

    options = TakeOverOptions(workspace=workspace, experiment=experiment, depth=depth, timeout=timeout)
    sys.exit(ship(folders or [], timeout=timeout, clean=clean, as_json=as_json, options=options))


@app.command(name="import")
def import_(
    tool: Annotated[str, typer.Argument(help="wandb, mlflow, trackio or aim.")],
    place: Annotated[str, typer.Argument(help="A folder `wandb` or `mlruns`, a database, a tracking URI.")],
    store: Annotated[
        str | None, typer.Argument(help="Folder or URI in which runs are kept.", show_default="$ABOARD_STORE")
    ] = None,
    *,
    workspace: Annotated[str | None, typer.Option(help="Where the runs belong.")] = None,
    experiment: Annotated[
        str | None, typer.Option(help="Which runs they belong with.", show_default="as the tool says")
    ] = None,
    timeout: Annotated[float, typer.Option(min=0, help="Seconds for each run.")] = 600.0,
    as_json: Json = False,
) -> None:
    """Take runs of other tools over, read with their own libraries: curves, parameters, tags, dates."""
    from aboard.cli.sync import ImportOptions, import_runs

    sys.exit(
        import_runs(
            ImportOptions(
                tool=tool,
                place=place,
                store=store,
                workspace=workspace,
                experiment=experiment,
                timeout=timeout,
                as_json=as_json,
            )
        )
    )


@app.command()
def reindex(
    store: Annotated[str, typer.Argument(help="Folder or URI in which runs are kept.")],
    *,
    as_json: Json = False,
) -> None:
    """Rebuild what the catalog knows of a store from the store alone."""
    from aboard.cli.server.maintenance import reindex as rebuild

    sys.exit(rebuild(store, as_json=as_json))


@functools.cache
def command() -> Command:
    """All of the above as one command, made once: the Typer makes it again for each call."""
    return typer.main.get_command(app)


def main() -> None:
    """Entry point: a person's mistake ends with a message and exit code 1, not with a traceback."""
    try:
        command()()
    except AboardError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
