# SPDX-License-Identifier: Apache-2.0
"""The first schema."""

import sqlalchemy as sa
from alembic import op

from aboard.catalog.columns import Json, Moment, Number, Real, Words

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "audit",
        sa.Column("id", Number, nullable=False),
        sa.Column("at", Moment(), nullable=False),
        sa.Column("actor", Words(), nullable=False),
        sa.Column("action", Words(), nullable=False),
        sa.Column("target", Words(), nullable=False),
        sa.Column("details", Json(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_audit"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_audit_actor", "audit", ["actor", "id"], unique=False)
    op.create_index("ix_audit_target", "audit", ["target", "id"], unique=False)
    op.create_table(
        "retired_numbers",
        sa.Column("kind", Words(), nullable=False),
        sa.Column("number", Number, autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("kind", "number", name="pk_retired_numbers"),
    )
    op.create_table(
        "users",
        sa.Column("id", Number, nullable=False),
        sa.Column("name", Words(), nullable=False),
        sa.Column("name_key", Words(), nullable=False),
        sa.Column("display_name", Words(), nullable=False),
        sa.Column("subject", Words(), nullable=True),
        sa.Column("is_administrator", sa.Boolean(), nullable=False),
        sa.Column("created", Moment(), nullable=False),
        sa.Column("disabled", Moment(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_users"),
        sa.UniqueConstraint("name_key", name="uq_users_name_key"),
        sa.UniqueConstraint("subject", name="uq_users_subject"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "workspaces",
        sa.Column("id", Number, nullable=False),
        sa.Column("name", Words(), nullable=False),
        sa.Column("name_key", Words(), nullable=False),
        sa.Column("description", Words(), nullable=False),
        sa.Column("created", Moment(), nullable=False),
        sa.Column("deleted", Moment(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_workspaces"),
        sa.UniqueConstraint("name_key", name="uq_workspaces_name_key"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "boards",
        sa.Column("id", Words(), nullable=False),
        sa.Column("name", Words(), nullable=False),
        sa.Column("workspace_id", Number, nullable=False),
        sa.Column("owner", Words(), nullable=False),
        sa.Column("kind", Words(), nullable=False),
        sa.Column("state", Words(), nullable=False),
        sa.Column("description", Words(), nullable=False),
        sa.Column("sources", Json(), nullable=False),
        sa.Column("where", Words(), nullable=False),
        sa.Column("template", Words(), nullable=False),
        sa.Column("selection", Words(), nullable=False),
        sa.Column("created", Moment(), nullable=False),
        sa.Column("started", Moment(), nullable=True),
        sa.Column("last_used", Moment(), nullable=True),
        sa.Column("ended", Moment(), nullable=True),
        sa.Column("idle_timeout", Real, nullable=True),
        sa.Column("max_runtime", Real, nullable=True),
        sa.Column("exit_status", Words(), nullable=False),
        sa.Column("reason", Words(), nullable=False),
        sa.Column("settings", Json(), nullable=False),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name="fk_boards_workspace_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_boards"),
    )
    op.create_index("ix_boards_owner", "boards", ["owner", "state"], unique=False)
    op.create_index("ix_boards_selection", "boards", ["selection", "owner"], unique=False)
    op.create_index("ix_boards_workspace_id", "boards", ["workspace_id", "created"], unique=False)
    op.create_table(
        "experiments",
        sa.Column("id", Number, nullable=False),
        sa.Column("workspace_id", Number, nullable=False),
        sa.Column("name", Words(), nullable=False),
        sa.Column("name_key", Words(), nullable=False),
        sa.Column("description", Words(), nullable=False),
        sa.Column("tags", Json(), nullable=False),
        sa.Column("created", Moment(), nullable=False),
        sa.Column("deleted", Moment(), nullable=True),
        sa.Column("deleted_why", Words(), nullable=True),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspaces.id"], name="fk_experiments_workspace_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_experiments"),
        sa.UniqueConstraint("workspace_id", "name_key", name="uq_experiments_workspace_id_name_key"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "fields",
        sa.Column("id", Number, nullable=False),
        sa.Column("workspace_id", Number, nullable=False),
        sa.Column("kind", Words(), nullable=False),
        sa.Column("name", Words(), nullable=False),
        sa.CheckConstraint("kind IN ('hparam', 'metric')", name="ck_fields_kind"),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name="fk_fields_workspace_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_fields"),
        sa.UniqueConstraint("workspace_id", "kind", "name", name="uq_fields_workspace_id_kind_name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "memberships",
        sa.Column("user_id", Number, nullable=False),
        sa.Column("workspace_id", Number, nullable=False),
        sa.Column("role", Words(), nullable=False),
        sa.CheckConstraint("role IN ('viewer', 'editor', 'admin')", name="ck_memberships_role"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_memberships_user_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspaces.id"], name="fk_memberships_workspace_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user_id", "workspace_id", name="pk_memberships"),
    )
    op.create_table(
        "tokens",
        sa.Column("id", Words(), nullable=False),
        sa.Column("user_id", Number, nullable=False),
        sa.Column("name", Words(), nullable=False),
        sa.Column("hash", Words(), nullable=False),
        sa.Column("scopes", Json(), nullable=False),
        sa.Column("created", Moment(), nullable=False),
        sa.Column("expires", Moment(), nullable=True),
        sa.Column("last_used", Moment(), nullable=True),
        sa.Column("revoked", Moment(), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name="fk_tokens_user_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_tokens"),
    )
    op.create_index("ix_tokens_user_id", "tokens", ["user_id"], unique=False)
    op.create_table(
        "runs",
        sa.Column("id", Number, nullable=False),
        sa.Column("uid", Words(), nullable=False),
        sa.Column("workspace_id", Number, nullable=False),
        sa.Column("experiment_id", Number, nullable=True),
        sa.Column("experiment", Words(), nullable=True),
        sa.Column("name", Words(), nullable=False),
        sa.Column("name_key", Words(), nullable=False),
        sa.Column("status", Words(), nullable=False),
        sa.Column("user", Words(), nullable=True),
        sa.Column("host", Words(), nullable=True),
        sa.Column("store", Words(), nullable=True),
        sa.Column("reason", Words(), nullable=True),
        sa.Column("created", Moment(), nullable=False),
        sa.Column("started", Moment(), nullable=True),
        sa.Column("ended", Moment(), nullable=True),
        sa.Column("heartbeat", Moment(), nullable=True),
        sa.Column("updated", Moment(), nullable=True),
        sa.Column("revision", sa.BigInteger(), nullable=True),
        sa.Column("duration", Real, nullable=True),
        sa.Column("exit_code", sa.BigInteger(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("files", sa.BigInteger(), nullable=True),
        sa.Column("bytes", sa.BigInteger(), nullable=True),
        sa.Column("deleted", Moment(), nullable=True),
        sa.Column("deleted_why", Words(), nullable=True),
        sa.Column("details", Json(), nullable=False),
        sa.Column("digest", Words(), nullable=True),
        sa.ForeignKeyConstraint(["experiment_id"], ["experiments.id"], name="fk_runs_experiment_id"),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name="fk_runs_workspace_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_runs"),
        sa.UniqueConstraint("uid", name="uq_runs_uid"),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ix_runs_deleted",
        "runs",
        ["deleted"],
        unique=False,
        sqlite_where=sa.text("deleted IS NOT NULL"),
        postgresql_where=sa.text("deleted IS NOT NULL"),
    )
    op.create_index("ix_runs_experiment_id", "runs", ["experiment_id", "status", "id"], unique=False)
    op.create_index(
        "ix_runs_live",
        "runs",
        ["workspace_id", "id"],
        unique=False,
        sqlite_where=sa.text("deleted IS NULL"),
        postgresql_where=sa.text("deleted IS NULL"),
    )
    op.create_index(
        "ix_runs_live_attempts",
        "runs",
        ["workspace_id", "attempts", "id"],
        unique=False,
        sqlite_where=sa.text("deleted IS NULL"),
        postgresql_where=sa.text("deleted IS NULL"),
    )
    op.create_index(
        "ix_runs_live_bytes",
        "runs",
        ["workspace_id", "bytes", "id"],
        unique=False,
        sqlite_where=sa.text("deleted IS NULL"),
        postgresql_where=sa.text("deleted IS NULL"),
    )
    op.create_index(
        "ix_runs_live_created",
        "runs",
        ["workspace_id", "created", "id"],
        unique=False,
        sqlite_where=sa.text("deleted IS NULL"),
        postgresql_where=sa.text("deleted IS NULL"),
    )
    op.create_index(
        "ix_runs_live_duration",
        "runs",
        ["workspace_id", "duration", "id"],
        unique=False,
        sqlite_where=sa.text("deleted IS NULL"),
        postgresql_where=sa.text("deleted IS NULL"),
    )
    op.create_index(
        "ix_runs_live_ended",
        "runs",
        ["workspace_id", "ended", "id"],
        unique=False,
        sqlite_where=sa.text("deleted IS NULL"),
        postgresql_where=sa.text("deleted IS NULL"),
    )
    op.create_index(
        "ix_runs_live_exit_code",
        "runs",
        ["workspace_id", "exit_code", "id"],
        unique=False,
        sqlite_where=sa.text("deleted IS NULL"),
        postgresql_where=sa.text("deleted IS NULL"),
    )
    op.create_index(
        "ix_runs_live_experiment",
        "runs",
        ["workspace_id", "experiment", "id"],
        unique=False,
        sqlite_where=sa.text("deleted IS NULL"),
        postgresql_where=sa.text("deleted IS NULL"),
    )
    op.create_index(
        "ix_runs_live_files",
        "runs",
        ["workspace_id", "files", "id"],
        unique=False,
        sqlite_where=sa.text("deleted IS NULL"),
        postgresql_where=sa.text("deleted IS NULL"),
    )
    op.create_index(
        "ix_runs_live_heartbeat",
        "runs",
        ["workspace_id", "heartbeat", "id"],
        unique=False,
        sqlite_where=sa.text("deleted IS NULL"),
        postgresql_where=sa.text("deleted IS NULL"),
    )
    op.create_index(
        "ix_runs_live_host",
        "runs",
        ["workspace_id", "host", "id"],
        unique=False,
        sqlite_where=sa.text("deleted IS NULL"),
        postgresql_where=sa.text("deleted IS NULL"),
    )
    op.create_index(
        "ix_runs_live_name",
        "runs",
        ["workspace_id", "name", "id"],
        unique=False,
        sqlite_where=sa.text("deleted IS NULL"),
        postgresql_where=sa.text("deleted IS NULL"),
    )
    op.create_index(
        "ix_runs_live_started",
        "runs",
        ["workspace_id", "started", "id"],
        unique=False,
        sqlite_where=sa.text("deleted IS NULL"),
        postgresql_where=sa.text("deleted IS NULL"),
    )
    op.create_index(
        "ix_runs_live_status",
        "runs",
        ["workspace_id", "status", "id"],
        unique=False,
        sqlite_where=sa.text("deleted IS NULL"),
        postgresql_where=sa.text("deleted IS NULL"),
    )
    op.create_index(
        "ix_runs_live_updated",
        "runs",
        ["workspace_id", "updated", "id"],
        unique=False,
        sqlite_where=sa.text("deleted IS NULL"),
        postgresql_where=sa.text("deleted IS NULL"),
    )
    op.create_index(
        "ix_runs_live_user",
        "runs",
        ["workspace_id", "user", "id"],
        unique=False,
        sqlite_where=sa.text("deleted IS NULL"),
        postgresql_where=sa.text("deleted IS NULL"),
    )
    op.create_index("ix_runs_name_key", "runs", ["workspace_id", "name_key"], unique=False)
    op.create_index("ix_runs_store", "runs", ["store"], unique=False)
    op.create_table(
        "attempts",
        sa.Column("run_id", Number, nullable=False),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("status", Words(), nullable=False),
        sa.Column("started", Moment(), nullable=True),
        sa.Column("ended", Moment(), nullable=True),
        sa.Column("heartbeat", Moment(), nullable=True),
        sa.Column("host", Words(), nullable=False),
        sa.Column("exit_code", sa.BigInteger(), nullable=True),
        sa.Column("reason", Words(), nullable=False),
        sa.Column("details", Json(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_attempts_run_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "number", name="pk_attempts"),
    )
    op.create_table(
        "hparams",
        sa.Column("run_id", Number, nullable=False),
        sa.Column("field_id", Number, nullable=False),
        sa.Column("kind", Words(), nullable=False),
        sa.Column("number", Real, nullable=True),
        sa.Column("text", Words(), nullable=True),
        sa.Column("text_head", Words(), nullable=True),
        sa.Column("flag", sa.SmallInteger(), nullable=True),
        sa.CheckConstraint("kind IN ('int', 'float', 'text', 'bool', 'none')", name="ck_hparams_kind"),
        sa.ForeignKeyConstraint(["field_id"], ["fields.id"], name="fk_hparams_field_id"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_hparams_run_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "field_id", name="pk_hparams"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_hparams_field_id", "hparams", ["field_id", "run_id"], unique=False)
    op.create_index(
        "ix_hparams_flag",
        "hparams",
        ["field_id", "flag", "run_id"],
        unique=False,
        sqlite_where=sa.text("flag IS NOT NULL"),
        postgresql_where=sa.text("flag IS NOT NULL"),
    )
    op.create_index(
        "ix_hparams_number",
        "hparams",
        ["field_id", "number", "run_id"],
        unique=False,
        sqlite_where=sa.text("number IS NOT NULL"),
        postgresql_where=sa.text("number IS NOT NULL"),
    )
    op.create_index(
        "ix_hparams_text_head",
        "hparams",
        ["field_id", "text_head", "run_id"],
        unique=False,
        sqlite_where=sa.text("text_head IS NOT NULL"),
        postgresql_where=sa.text("text_head IS NOT NULL"),
    )
    op.create_table(
        "metrics",
        sa.Column("run_id", Number, nullable=False),
        sa.Column("field_id", Number, nullable=False),
        sa.Column("last", Real, nullable=True),
        sa.Column("last_step", sa.BigInteger(), nullable=False),
        sa.Column("last_time", Real, nullable=False),
        sa.Column("min", Real, nullable=True),
        sa.Column("min_step", sa.BigInteger(), nullable=True),
        sa.Column("min_time", Real, nullable=True),
        sa.Column("max", Real, nullable=True),
        sa.Column("max_step", sa.BigInteger(), nullable=True),
        sa.Column("max_time", Real, nullable=True),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["field_id"], ["fields.id"], name="fk_metrics_field_id"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_metrics_run_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "field_id", name="pk_metrics"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_metrics_last", "metrics", ["field_id", "last", "run_id", "last_step", "count"], unique=False)
    op.create_index("ix_metrics_max", "metrics", ["field_id", "max", "run_id", "max_step"], unique=False)
    op.create_index("ix_metrics_min", "metrics", ["field_id", "min", "run_id", "min_step"], unique=False)
    op.create_table(
        "notes",
        sa.Column("run_id", Number, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("text", Words(), nullable=False),
        sa.Column("author", Words(), nullable=False),
        sa.Column("written", Moment(), nullable=True),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_notes_run_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "position", name="pk_notes"),
    )
    op.create_table(
        "tags",
        sa.Column("run_id", Number, nullable=False),
        sa.Column("name", Words(), nullable=False),
        sa.Column("value", Words(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_tags_run_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "name", name="pk_tags"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_tags_name", "tags", ["name", "run_id"], unique=False)
