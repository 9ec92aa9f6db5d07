# SPDX-License-Identifier: Apache-2.0
"""The files of a run on the training machine, beside those that `aboard.upload` knows (docs/decisions/0010)."""

from __future__ import annotations

from pathlib import Path

SPOOLS = "spool"
"""Below the person's home folder: one folder for each run, named by its uid."""
FACTS = "facts.jsonl"
"""What the training says about itself, one JSON object in a line."""
START = "start.json"
"""What a training process that was not started by `aboard run` asks its helper for."""
LOG_FORMAT = "aboard-log-start"
"""The format of `START` where there is no run, and log folders with URIs are shipped."""
FOLDER = "folder.json"
"""In each of these folders: the URI that it stands for."""
DESTINATION = "destination.json"
"""Where the files are, and where they go: enough to finish shipping without whoever began it."""
PROGRESS = "progress.json"
"""How far shipping has come."""
ATTEMPT = "attempt.json"
"""The claim of the newest attempt of this machine; without one there is nothing to ship."""
LOCK = "lock"
"""Held by the process that ships."""
HELPER_LOG = "helper.log"
OUTPUT = "output"
LOGS = "log"
TENSORBOARD = "tensorboard"
"""Below the output folder."""


def spools_of(home: Path) -> Path:
    """Where the folders of all runs are."""
    return home / SPOOLS
