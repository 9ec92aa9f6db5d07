# SPDX-License-Identifier: Apache-2.0
"""Runs of read-only sources, and what people add to them."""

import sqlalchemy as sa
from alembic import op

from aboard.catalog.columns import Json, Number, Words

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Add the column and the table."""
    op.add_column("runs", sa.Column("source_path", Words(), nullable=True))
    op.create_table(
        "run_edits",
        sa.Column("run_id", Number, nullable=False),
        sa.Column("edit", Json(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_run_edits_run_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", name="pk_run_edits"),
    )
