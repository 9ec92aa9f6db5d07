# SPDX-License-Identifier: Apache-2.0
"""The tables of the newest schema. Migrations create them; a test compares the two.

Numbers of experiments and runs are the keys of their tables, counted up and never given twice. Names of hyperparameters
and metrics are kept once per workspace in `fields`, so that an index which begins with a field holds just the values of
one workspace, in order: this is what filters and sorted pages walk along.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    SmallInteger,
    Table,
    UniqueConstraint,
    column,
)

from aboard.catalog.columns import Json, Moment, Number, Real, Words

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

TEXT_HEAD = 64  # characters of a text that its index holds
LONGEST_KEY = 500  # characters of a name of any kind; an index of PostgreSQL holds 2,700 bytes


def _run_id() -> Column[int]:
    return Column("run_id", Number, ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)


def _workspace_id() -> Column[int]:
    return Column("workspace_id", Number, ForeignKey("workspaces.id", ondelete="CASCADE"), nullable=False)


workspaces = Table(
    "workspaces",
    metadata,
    Column("id", Number, primary_key=True),
    Column("name", Words, nullable=False),
    Column("name_key", Words, nullable=False, unique=True),
    Column("description", Words, nullable=False),
    Column("created", Moment, nullable=False),
    Column("deleted", Moment),
    sqlite_autoincrement=True,
)

experiments = Table(
    "experiments",
    metadata,
    Column("id", Number, primary_key=True),
    _workspace_id(),
    Column("name", Words, nullable=False),
    Column("name_key", Words, nullable=False),
    Column("description", Words, nullable=False),
    Column("tags", Json, nullable=False),
    Column("created", Moment, nullable=False),
    Column("deleted", Moment),
    Column("deleted_why", Words),
    UniqueConstraint("workspace_id", "name_key"),
    sqlite_autoincrement=True,
)

runs = Table(
    "runs",
    metadata,
    Column("id", Number, primary_key=True),
    Column("uid", Words, nullable=False, unique=True),
    _workspace_id(),
    Column("experiment_id", Number, ForeignKey("experiments.id")),
    Column("experiment", Words),  # the experiment's name, beside its number for sorting
    Column("name", Words, nullable=False),
    Column("name_key", Words, nullable=False),
    Column("status", Words, nullable=False),
    Column("user", Words),
    Column("host", Words),
    Column("store", Words),
    Column("source_path", Words),  # of a run in a read-only source, in which nothing is written
    Column("reason", Words),
    Column("created", Moment, nullable=False),
    Column("started", Moment),
    Column("ended", Moment),
    Column("heartbeat", Moment),
    Column("updated", Moment),
    Column("revision", BigInteger),
    Column("duration", Real),
    Column("exit_code", BigInteger),
    Column("attempts", Integer, nullable=False),
    Column("files", BigInteger),
    Column("bytes", BigInteger),
    Column("deleted", Moment),
    Column("deleted_why", Words),
    Column("details", Json, nullable=False),
    Column("digest", Words),  # of the document that stands here; none when the row was changed without one
    sqlite_autoincrement=True,
)

# One index per order in which a workspace's runs are shown; runs in the bin are in none of them.
SORTED_COLUMNS = (
    *("experiment", "name", "status", "user", "host", "created", "started", "ended", "heartbeat", "updated"),
    *("duration", "exit_code", "attempts", "files", "bytes"),
)
for _name in SORTED_COLUMNS:
    Index(
        f"ix_runs_live_{_name}",
        runs.c.workspace_id,
        runs.c[_name],
        runs.c.id,
        sqlite_where=column("deleted").is_(None),
        postgresql_where=column("deleted").is_(None),
    )
Index(
    "ix_runs_live",
    runs.c.workspace_id,
    runs.c.id,
    sqlite_where=column("deleted").is_(None),
    postgresql_where=column("deleted").is_(None),
)
Index("ix_runs_experiment_id", runs.c.experiment_id, runs.c.status, runs.c.id)
Index("ix_runs_name_key", runs.c.workspace_id, runs.c.name_key)
Index("ix_runs_store", runs.c.store)
Index(
    "ix_runs_deleted",
    runs.c.deleted,
    sqlite_where=column("deleted").is_not(None),
    postgresql_where=column("deleted").is_not(None),
)

# Numbers whose run or experiment was purged: a document that still carries one does not get it back.
retired_numbers = Table(
    "retired_numbers",
    metadata,
    Column("kind", Words, primary_key=True),
    Column("number", Number, primary_key=True, autoincrement=False),
)

attempts = Table(
    "attempts",
    metadata,
    _run_id(),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("status", Words, nullable=False),
    Column("started", Moment),
    Column("ended", Moment),
    Column("heartbeat", Moment),
    Column("host", Words, nullable=False),
    Column("exit_code", BigInteger),
    Column("reason", Words, nullable=False),
    Column("details", Json, nullable=False),
)

fields = Table(
    "fields",
    metadata,
    Column("id", Number, primary_key=True),
    _workspace_id(),
    Column("kind", Words, nullable=False),
    Column("name", Words, nullable=False),
    UniqueConstraint("workspace_id", "kind", "name"),
    CheckConstraint("kind IN ('hparam', 'metric')", name="kind"),
    sqlite_autoincrement=True,
)

hparams = Table(
    "hparams",
    metadata,
    _run_id(),
    Column("field_id", Number, ForeignKey("fields.id"), primary_key=True),
    Column("kind", Words, nullable=False),  # int, float, text, bool or none
    Column("number", Real),  # none for NaN
    Column("text", Words),  # also the digits of an integer that a double cannot hold
    Column("text_head", Words),
    Column("flag", SmallInteger),
    CheckConstraint("kind IN ('int', 'float', 'text', 'bool', 'none')", name="kind"),
    sqlite_with_rowid=False,
)
for _name in ("number", "text_head", "flag"):
    Index(
        f"ix_hparams_{_name}",
        hparams.c.field_id,
        hparams.c[_name],
        hparams.c.run_id,
        sqlite_where=column(_name).is_not(None),
        postgresql_where=column(_name).is_not(None),
    )
# Without a condition: it finds all runs that have a hyperparameter, and what purging a workspace must look for.
Index("ix_hparams_field_id", hparams.c.field_id, hparams.c.run_id)

metrics = Table(
    "metrics",
    metadata,
    _run_id(),
    Column("field_id", Number, ForeignKey("fields.id"), primary_key=True),
    Column("last", Real),  # none for NaN
    Column("last_step", BigInteger, nullable=False),
    Column("last_time", Real, nullable=False),
    Column("min", Real),  # none when every value was NaN
    Column("min_step", BigInteger),
    Column("min_time", Real),
    Column("max", Real),
    Column("max_step", BigInteger),
    Column("max_time", Real),
    Column("count", BigInteger, nullable=False),
    # What comes after the run is not for finding but for reading: orders by it need no look at the table.
    Index("ix_metrics_last", "field_id", "last", "run_id", "last_step", "count"),
    Index("ix_metrics_min", "field_id", "min", "run_id", "min_step"),
    Index("ix_metrics_max", "field_id", "max", "run_id", "max_step"),
    sqlite_with_rowid=False,
)

tags = Table(
    "tags",
    metadata,
    _run_id(),
    Column("name", Words, primary_key=True),
    Column("value", Words, nullable=False),
    Index("ix_tags_name", "name", "run_id"),
    sqlite_with_rowid=False,
)

notes = Table(
    "notes",
    metadata,
    _run_id(),
    Column("position", Integer, primary_key=True),
    Column("text", Words, nullable=False),
    Column("author", Words, nullable=False),
    Column("written", Moment),
)

# What people add to runs whose files are read-only; the other tables hold what they see.
run_edits = Table(
    "run_edits",
    metadata,
    _run_id(),
    Column("edit", Json, nullable=False),
)

users = Table(
    "users",
    metadata,
    Column("id", Number, primary_key=True),
    Column("name", Words, nullable=False),
    Column("name_key", Words, nullable=False, unique=True),
    Column("display_name", Words, nullable=False),
    Column("subject", Words, unique=True),
    Column("is_administrator", Boolean(create_constraint=False), nullable=False),
    Column("created", Moment, nullable=False),
    Column("disabled", Moment),
    sqlite_autoincrement=True,
)

memberships = Table(
    "memberships",
    metadata,
    Column("user_id", Number, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
    Column("workspace_id", Number, ForeignKey("workspaces.id", ondelete="CASCADE"), primary_key=True),
    Column("role", Words, nullable=False),
    CheckConstraint("role IN ('viewer', 'editor', 'admin')", name="role"),
)

tokens = Table(
    "tokens",
    metadata,
    Column("id", Words, primary_key=True),
    Column("user_id", Number, ForeignKey("users.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("name", Words, nullable=False),
    Column("hash", Words, nullable=False),
    Column("scopes", Json, nullable=False),
    Column("created", Moment, nullable=False),
    Column("expires", Moment),
    Column("last_used", Moment),
    Column("revoked", Moment),
    # The token that created this one. No foreign key: backups copy the rows in any order.
    Column("parent_id", Words),
)

sessions = Table(
    "sessions",
    metadata,
    Column("hash", Words, primary_key=True),  # of what stands in the browser's cookie
    Column("user_id", Number, ForeignKey("users.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("token_id", Words, ForeignKey("tokens.id", ondelete="CASCADE")),  # with which the person came
    Column("origin", Words, nullable=False),
    Column("created", Moment, nullable=False),
    Column("expires", Moment, nullable=False),
    Column("last_used", Moment, nullable=False),
    Column("renewal_due", Moment),  # since when the browser is to get another secret
    Column("former_hash", Words),  # of the secret before, for what the browser has under way
    Column("former_until", Moment),
    Index("ix_sessions_expires", "expires"),
    Index("ix_sessions_former_hash", "former_hash"),
)

# What may be shown once, in an address, and is a session or token from then on.
login_codes = Table(
    "login_codes",
    metadata,
    Column("hash", Words, primary_key=True),
    Column("user_id", Number, ForeignKey("users.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("token_id", Words, ForeignKey("tokens.id", ondelete="CASCADE")),  # the token that requested it
    Column("challenge", Words, nullable=False),  # a digest of what the program that asked for it knows; or empty
    Column("created", Moment, nullable=False),
    Column("expires", Moment, nullable=False),
    Index("ix_login_codes_expires", "expires"),
)

boards = Table(
    "boards",
    metadata,
    Column("id", Words, primary_key=True),
    Column("name", Words, nullable=False),
    _workspace_id(),
    Column("owner", Words, nullable=False),
    Column("kind", Words, nullable=False),
    Column("state", Words, nullable=False),
    Column("description", Words, nullable=False),
    Column("sources", Json, nullable=False),
    Column("where", Words, nullable=False),
    Column("template", Words, nullable=False),
    Column("selection", Words, nullable=False),  # a digest: the same selection opens the same board again
    Column("created", Moment, nullable=False),
    Column("started", Moment),
    Column("last_used", Moment),
    Column("ended", Moment),
    Column("idle_timeout", Real),
    Column("max_runtime", Real),
    Column("exit_status", Words, nullable=False),
    Column("reason", Words, nullable=False),
    Column("settings", Json, nullable=False),
    Column("scope", Json),  # the workspaces that its runs may come from; all when there is nothing
    Column("shown", Json),  # the workspaces whose runs it showed when it was last looked at
    Column("run_count", BigInteger),  # how many runs these were
    Column("secret", Words),  # by which every process understands the addresses that another gave out
    Column("unit", Words),  # of a board that is a process: its id, as long as something may be left of it
    Column("unit_host", Words),  # the machine whose servers look after it
    Index("ix_boards_owner", "owner", "state"),
    Index("ix_boards_selection", "selection", "owner"),
    Index("ix_boards_workspace_id", "workspace_id", "created"),
)

# From before a unit is submitted until nothing is left of it, whatever becomes of the board meanwhile.
board_units = Table(
    "board_units",
    metadata,
    Column("unit", Words, primary_key=True),
    Column("board_id", Words, nullable=False),
    Column("host", Words, nullable=False),  # whose servers look after it
    Column("executor", Words, nullable=False),  # empty as long as nothing was submitted
    Column("options", Json, nullable=False),
    Column("mirror", Words, nullable=False),
    Column("said", BigInteger, nullable=False),
)

board_lines = Table(
    "board_lines",
    metadata,
    Column("id", Number, primary_key=True),
    Column("board_id", Words, ForeignKey("boards.id", ondelete="CASCADE"), nullable=False),
    Column("at", Moment, nullable=False),
    Column("level", Words, nullable=False),
    Column("text", Words, nullable=False),
    Index("ix_board_lines_board_id", "board_id", "id"),
    sqlite_autoincrement=True,
)

saved_views = Table(
    "saved_views",
    metadata,
    Column("id", Number, primary_key=True),
    _workspace_id(),
    Column("name", Words, nullable=False),
    Column("name_key", Words, nullable=False),
    Column("address", Words, nullable=False),  # below the workspace, whose name may change
    Column("owner", Words, nullable=False),
    Column("created", Moment, nullable=False),
    Column("changed", Moment, nullable=False),
    UniqueConstraint("workspace_id", "name_key"),
    sqlite_autoincrement=True,
)

reindexings = Table(
    "reindexings",
    metadata,
    Column("id", Words, primary_key=True),
    Column("store", Words, nullable=False),
    Column("at", Moment, nullable=False),
    Column("is_over", Boolean(create_constraint=False), nullable=False),
    Column("facts", Json, nullable=False),
)

leases = Table(
    "leases",
    metadata,
    Column("name", Words, primary_key=True),
    Column("holder", Words, nullable=False),  # a server process
    Column("until", Moment, nullable=False),
    Column("facts", Json, nullable=False),  # what it tells the others
)

audit = Table(
    "audit",
    metadata,
    Column("id", Number, primary_key=True),
    Column("at", Moment, nullable=False),
    Column("actor", Words, nullable=False),
    Column("action", Words, nullable=False),
    Column("target", Words, nullable=False),
    Column("details", Json, nullable=False),
    Index("ix_audit_target", "target", "id"),
    Index("ix_audit_actor", "actor", "id"),
    sqlite_autoincrement=True,
)
