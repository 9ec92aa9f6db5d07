# SPDX-License-Identifier: Apache-2.0
"""`aboard board …`, also called `aboard tensorboard …`: its commands, each declared where its work is done."""

from __future__ import annotations

import typer

from aboard.cli.boards import changes, launch, listing
from aboard.cli.habits import StartCommand
from aboard.cli.parsing import ListingGroup

app = typer.Typer(cls=ListingGroup, rich_markup_mode=None)

app.command("start", cls=StartCommand)(launch.start)
app.command("list")(listing.list_boards)
app.command("ls", hidden=True)(listing.list_boards)
app.command("open")(listing.open_board)
app.command("logs")(listing.print_logs)
app.command("kill")(changes.kill)
app.command("stop")(changes.stop)
app.command("start-again")(changes.start_again)
app.command("delete")(changes.delete)
app.command("config")(listing.print_config)
app.command("change")(changes.change)
