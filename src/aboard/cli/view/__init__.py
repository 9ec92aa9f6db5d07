# SPDX-License-Identifier: Apache-2.0
"""`aboard view`: its options. It opens a board over folders in this process, or over runs on a server.

Every start of the command loads this module.
"""

from __future__ import annotations

from typing import Annotated

import typer

from aboard.cli.habits import strip_subcommand


def view(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FOLDER|URI|RUNS]...",
            help="Folders, URIs, name=FOLDER, patterns or event files; or run343, exp7, ws1/base*, @FILE with such.",
            show_default="the current folder, if event files are in it",
        ),
    ] = None,
    *,
    where: Annotated[str | None, typer.Option("--where", help="Only runs for which a filter holds.")] = None,
    job: Annotated[str | None, typer.Option("--job", help="The runs of a job: 7, or its name.")] = None,
    experiment: Annotated[str | None, typer.Option("--experiment", help="The same for an experiment.")] = None,
    workspace: Annotated[
        str, typer.Option("--workspace", "-w", help="For names of runs without a workspace; alone, all its runs.")
    ] = "",
    logdir: Annotated[str | None, typer.Option("--logdir", help="A folder, as for tensorboard.")] = None,
    logdir_spec: Annotated[
        str | None, typer.Option("--logdir_spec", "--logdir-spec", help="name:folder,name:folder, as for tensorboard.")
    ] = None,
    host: Annotated[
        str | None,
        typer.Option(help="Address to listen on. All but loopback needs a token.", show_default="127.0.0.1"),
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port; without it 6006 or the next free one, 0 for any.")
    ] = None,
    bind_all: Annotated[bool, typer.Option("--bind_all", "--bind-all", help="Listen on all addresses.")] = False,
    reuse_port: Annotated[bool, typer.Option("--reuse_port", "--reuse-port", hidden=True)] = False,
    path_prefix: Annotated[str, typer.Option("--path_prefix", "--path-prefix", help="Path below which it is.")] = "",
    reload_interval: Annotated[
        float | None,
        typer.Option(
            "--reload_interval",
            "--reload-interval",
            "--interval",
            min=0,
            help="Seconds between looks for new data in folders; 0: read once.",
            show_default="0.5",
        ),
    ] = None,
    window_title: Annotated[str, typer.Option("--window_title", "--window-title", help="Title of the page.")] = "",
    template: Annotated[
        str | None,
        typer.Option(
            help="Names of the runs, such as '{run}_lr={hparams.lr}'; also {logdir}, {root}, {metrics.loss.last}.",
            show_default="folders: as TensorBoard names them; runs: {workspace}_{run}_{logdir}",
        ),
    ] = None,
    samples: Annotated[
        int | None,
        typer.Option(min=0, help="Most points per curve sent to TensorBoard; 0 sends all.", show_default="1000"),
    ] = None,
    samples_per_plugin: Annotated[
        str | None,
        typer.Option(
            "--samples_per_plugin",
            "--samples-per-plugin",
            help="As for tensorboard: scalars=500,images=0; 0 stands for all.",
            show_default="scalars=1000,images=500,audio=500, others 200",
        ),
    ] = None,
    opened: Annotated[
        str | None,
        typer.Option(
            "--open",
            metavar="page|tensorboard",
            help="What the address shows first.",
            show_default="`tensorboard.open` of the settings, or page",
        ),
    ] = None,
    stats: Annotated[
        bool, typer.Option("--stats", help="Tell how many requests and bytes reading from stores takes.")
    ] = False,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", "--browse", help="Open a browser.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line with the address; no browser.")] = False,
    embedded: Annotated[
        bool,
        typer.Option("--embedded", hidden=True, help="For notebooks: read-only, framed, ends with its standard input."),
    ] = False,
) -> None:
    """Show runs in the browser: aboard view runs/.

    Folders, buckets and event files open in this process, runs of a server on that server. TensorBoard is a tab of the
    page and has its own address.
    """
    from aboard.cli.habits import list_given_flags, parse_sample_options
    from aboard.cli.selections import classify_words, expand_files

    words = classify_words(expand_files(strip_subcommand(paths or [])))
    for note in words.notes:
        typer.echo(f"note: {note}", err=True)
    chosen_samples = parse_sample_options(samples, samples_per_plugin)
    if words.runs or job or experiment or workspace or where is not None:
        # Only runs of a server need the client, which takes as long to import as all else here.
        from aboard.cli.view.runs import RunViewOptions, view_runs

        view_runs(
            RunViewOptions(
                words=words,
                where=where,
                job=job,
                experiment=experiment,
                workspace=workspace,
                template=template or "",
                samples=chosen_samples,
                window_title=window_title,
                foreground=list_given_flags(
                    host=host,
                    port=port,
                    bind_all=bind_all,
                    reuse_port=reuse_port,
                    path_prefix=path_prefix,
                    stats=stats,
                    logdir=logdir,
                    logdir_spec=logdir_spec,
                ),
                interval=reload_interval is not None,
                open_browser=browser and not as_json,
                as_json=as_json,
            )
        )
        return
    from aboard.cli.view.serving import ViewOptions, check_roots, opens_tensorboard
    from aboard.cli.view.serving import view as serve

    folders = words.folders
    if not folders and logdir is None and logdir_spec is None:
        from aboard.cli.view.search import find_logs_here

        folders = [find_logs_here()]
    serve(
        ViewOptions(
            roots=check_roots(folders, logdir, logdir_spec),
            host=host,
            bind_all=bind_all,
            port=port,
            reuse_port=reuse_port,
            path_prefix=path_prefix,
            reload_interval=0.5 if reload_interval is None else reload_interval,
            window_title=window_title,
            template=template,
            samples=chosen_samples,
            open_browser=browser and not as_json,
            as_json=as_json,
            stats=stats,
            opens_tensorboard=opens_tensorboard(opened) and not embedded,
            is_embedded=embedded,
        )
    )
